/**
 * Makes the picture of the README, docs/dashboard.png, of one that the tests of the dashboard have taken: `npm run picture`, after
 * `npm run test:browser -- test/browser/contact-sheet.ts`.
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';

const taken = fileURLToPath(new URL('../test/browser/pictures/record-story-desk-light.png', import.meta.url));
const shown = fileURLToPath(new URL('../docs/dashboard.png', import.meta.url));

if (existsSync(taken)) {
  const { size } = await sharp(taken).png({ palette: true, colours: 128, effort: 10 }).toFile(shown);
  console.log(`docs/dashboard.png: ${Math.ceil(size / 1_000)} kB`);
} else {
  console.error(`There is no ${taken}. Run: npm run test:browser -- test/browser/contact-sheet.ts`);
  process.exitCode = 1;
}
