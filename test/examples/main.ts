/**
 * Installs the examples that need a framework, builds and starts each, and uses it as a person with a browser would, in front of a real
 * service: `npm run examples`, or `npm run examples -- sveltekit`. It asks the registry for their packages, so it is not part of `npm test`.
 */
import { appExamples, checkApp } from './check-app.ts';

const names = process.argv.slice(2);
const unknown = names.filter((name) => !appExamples.some((example) => example.name === name));
if (unknown.length > 0) throw new Error(`no example ${unknown.join(', ')}`);
for (const example of appExamples)
  if (names.length === 0 || names.includes(example.name)) {
    console.log(`${example.name}: install, build and start`);
    await checkApp(example);
    console.log(`${example.name}: passed`);
  }
