import { createHash } from 'node:crypto';
import type { BundledPackage } from './bundled-packages.ts';
import type { Commit } from './read-commit.ts';
import { describePackage, root } from './root.ts';
import { run } from './run.ts';

/** The parts of a bill of materials that we read or change; npm writes CycloneDX 1.5. */
interface Bill {
  serialNumber: string;
  metadata: { timestamp?: string; readonly component: Component };
  components: readonly Component[];
  dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

interface Component {
  readonly 'bom-ref': string;
  name: string;
  readonly version: string;
}

export interface BuildContents {
  readonly commit: Commit | undefined;
  readonly packages: readonly BundledPackage[];
  /** The folder of the package that was built, when it is not the root. It has no lockfile. */
  readonly folder?: string;
}

/**
 * Returns the bill of materials of a build in CycloneDX. Of all that npm lists, what is in the bundle stays: npm itself cannot tell, and
 * would leave out what developers need as well. In place of the present time and a random number it has the time of the commit and a
 * number made of the rest, so that two builds give the same bytes.
 */
export function listComponents({ commit, packages, folder }: BuildContents): string {
  // What is installed may differ between machines, the lockfile does not.
  const kind = [...(folder === undefined ? ['--package-lock-only'] : []), '--sbom-format', 'cyclonedx'];
  // Written by npm in this form.
  const bill = JSON.parse(run('npm', ['sbom', ...kind], { cwd: folder ?? root })) as Bill;
  const bundled = new Set(packages.map(({ name, version }) => `${name}@${version}`));
  bill.components = bill.components.filter(({ name, version }) => bundled.has(`${name}@${version}`));
  const kept = new Set(
    [bill.metadata.component, ...bill.components].map((component) => component['bom-ref']),
  );
  bill.dependencies = bill.dependencies
    .filter(({ ref }) => kept.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((one) => kept.has(one)) }));
  // Otherwise it is the name of the folder.
  bill.metadata.component.name = describePackage(folder).name;
  delete bill.metadata.timestamp;
  if (commit !== undefined) bill.metadata.timestamp = commit.time;
  bill.serialNumber = '';
  bill.serialNumber = `urn:uuid:${uuidOf(JSON.stringify(bill))}`;
  return `${JSON.stringify(bill, null, 2)}\n`;
}

/** A UUID of version 8, the one for numbers that are made in ways of one's own (RFC 9562). */
function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  const variant = (Number.parseInt(hex.slice(16, 17), 16) % 4) + 8;
  const [first, second, third] = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`];
  return `${first}-${second}-${third}-${variant.toString(16)}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
