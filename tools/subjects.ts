/**
 * Checks the subjects of the commits of the current branch, prints `hash subject: what is wrong` for each that breaks a rule of
 * CONTRIBUTING.md, and exits 1 if there is any. Where the commits cannot be read, it says why and passes.
 *
 *   node tools/subjects.ts [folder] [base]
 */
import { fileURLToPath } from 'node:url';
import { checkSubject } from './check-subject.ts';
import { readSubjects } from './read-subjects.ts';

/** The last commit from before the rules. */
const firstBase = '0548af4fa4dd9fd251a20f012149d432e62f8827';

const [root = fileURLToPath(new URL('..', import.meta.url)), base = firstBase] = process.argv.slice(2);
const commits = readSubjects(root, base);
if ('reason' in commits) console.log(`cannot look at the commits: ${commits.reason}`);
else
  for (const { hash, subject } of commits) {
    const problem = checkSubject(subject);
    if (problem === undefined) continue;
    console.log(`${hash} ${subject}: ${problem}`);
    process.exitCode = 1;
  }
