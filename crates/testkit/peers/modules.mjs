// Finds the SDKs where `ci/peers` put them, which is not above this file: the first argument is the folder that holds
// `node_modules`. It is an argument because clients start servers without their environment.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const find = createRequire(`${process.argv[2]}/`);

export const sdk = name => import(pathToFileURL(find.resolve(name)).href);
