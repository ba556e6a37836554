/**
 * Makes the pictures of the README, docs/dashboard.png and docs/dashboard-dark.png, of those that the tests of the dashboard have taken:
 * `npm run picture`, after `npm run test:browser -- test/browser/contact-sheet.ts`.
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';

const pictures = { 'docs/dashboard.png': 'light', 'docs/dashboard-dark.png': 'dark' };

for (const [path, colorScheme] of Object.entries(pictures)) {
  const picture = new URL(`../test/browser/pictures/record-story-desk-${colorScheme}.png`, import.meta.url);
  const taken = fileURLToPath(picture);
  if (!existsSync(taken))
    throw new Error(`There is no ${taken}. Run: npm run test:browser -- test/browser/contact-sheet.ts`);
  const shown = fileURLToPath(new URL(`../${path}`, import.meta.url));
  const { size } = await sharp(taken).png({ palette: true, colours: 128, effort: 10 }).toFile(shown);
  console.log(`${path}: ${Math.ceil(size / 1_000)} kB`);
}
