/**
 * Makes both npm packages: `npm run pack`. In dist/ it leaves chancery-VERSION.tgz, its bill of materials chancery-VERSION.cdx.json and
 * the contents of the package in dist/package, and the same of the kit for receivers: chancery-webhooks-VERSION.tgz, with dist/kit.
 */
import { mkdirSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { makeKit } from './build/make-kit.ts';
import { makePackage } from './build/make-package.ts';
import { root } from './build/root.ts';

const folder = join(root, 'dist');
mkdirSync(folder, { recursive: true });
for (const { archive, billOfMaterials } of [await makePackage(folder), makeKit(folder)]) {
  console.log(`${relative(root, archive)}: ${Math.round(statSync(archive).size / 1024)} KiB`);
  console.log(relative(root, billOfMaterials));
}
