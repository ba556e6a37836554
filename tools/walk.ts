/**
 * Prints the files and functions of src/ that a request runs, or what follows from it: `npm run walk [-- create "delete with cascade"]`. A user
 * with a token asks for records with rules, a file and relations. It counts by V8's precise coverage, in a service that has done the same
 * before, so that what is made once is not counted.
 */
import { walkNames, walkOf } from './walk/walk-of.ts';

const names = process.argv.slice(2);
for (const name of names.length === 0 ? walkNames : names) {
  const files = await walkOf(name);
  const functions = files.reduce((sum, file) => sum + file.functions.length, 0);
  console.log(`\n${name}: ${functions} functions in ${files.length} files`);
  for (const file of files) console.log(`  ${file.path.padEnd(44)} ${file.functions.join(' ')}`);
}
