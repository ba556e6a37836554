/**
 * Makes the npm package: `npm run pack`. In dist/ it leaves chancery-VERSION.tgz, its bill of materials chancery-VERSION.cdx.json, and
 * the contents of the package in dist/package.
 */
import { mkdirSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { makePackage } from './build/make-package.ts';
import { root } from './build/root.ts';

const folder = join(root, 'dist');
mkdirSync(folder, { recursive: true });
const { archive, billOfMaterials } = await makePackage(folder);
console.log(`${relative(root, archive)}: ${Math.round(statSync(archive).size / 1024)} KiB`);
console.log(relative(root, billOfMaterials));
