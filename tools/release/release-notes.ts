import type { Commit } from '../build/read-commit.ts';

/** Returns what a changelog says of a version, without its heading; undefined when it says nothing. */
export function readNotes(changelog: string, version: string): string | undefined {
  const sections = changelog.split(/^## /m).slice(1);
  const section = sections.find((one) => (one.split(/\s/, 1)[0] ?? '') === version);
  const notes = section?.slice(section.indexOf('\n') + 1).trim() ?? '';
  // Headings alone tell nobody anything.
  return notes.split('\n').some((line) => line.trim() !== '' && !line.startsWith('#')) ? notes : undefined;
}

/** Returns the notes that go with the files: what is new, and what each file is for. */
export function describeRelease(notes: string, version: string, commit: Commit): string {
  const seconds = Date.parse(commit.time) / 1_000;
  const args = `--build-arg COMMIT=${commit.name} --build-arg SOURCE_DATE_EPOCH=${seconds}`;
  return `# Chancery ${version}

${notes}

## Files

Made of commit ${commit.name}. Check them with \`sha256sum --check SHA256SUMS\`.

| file | what it is | use it |
| --- | --- | --- |
| \`chancery-${version}.tgz\` | the service for Node | \`npm install ./chancery-${version}.tgz\` |
| \`chancery-webhooks-${version}.tgz\` | the kit for receivers | \`npm install ./chancery-webhooks-${version}.tgz\` |
| \`chancery-linux-x64\`, \`chancery-linux-arm64\` | the service without Node, with its licences beside it | \`chmod +x chancery-linux-x64 && ./chancery-linux-x64\` |
| \`chancery-container-${version}.tar.gz\` | what the container image is built of | \`docker build ${args} -t chancery:${version} - < chancery-container-${version}.tar.gz\` |
| \`chancery-helm-${version}.tgz\` | the Helm chart | \`helm install chancery ./chancery-helm-${version}.tgz\` |
| \`*.cdx.json\` | bills of materials in CycloneDX | |

There is no executable for macOS and Windows here. In a checkout on such a machine, \`npm ci && npm run build:executable -- here\` makes one.
`;
}
