import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { isJsonObject } from '../src/base/json.ts';
import { dashboardTypes } from '../tools/build/dashboard-types.ts';
import { temporaryTree, writeTree } from './support/temporary-tree.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Enumerations of openapi.json that the dashboard need not know whole, by where each comes first, with the reason. */
const unlisted: Readonly<Record<string, string>> = {
  'parameters EndpointInclude': 'the dashboard sends it',
  'parameters OperatorOrder': 'the dashboard sends it',
  'parameters Step': 'the dashboard sends it, and chooses by the span',
  'parameters UsageBy': 'sent by the columns that sort',
  'parameters UsageStep': 'chosen by the span',
  'schemas AuditEntry action': 'shown as it is named',
  'schemas AuditEntry outcome': 'only a refusal is marked',
  'schemas AuthProvider codeChallengeMethod': 'no screen signs in at providers',
  'schemas BackupJob state': 'shown as it is',
  'schemas BatchRequest requests method': 'the dashboard sends it, through the SDK',
  'schemas DenyingRule name': 'shown as it is named',
  'schemas EndpointExplanation changed': 'shown as it is named',
  'schemas EndpointExplanation deliveryStatus': 'a status of a delivery, which is listed',
  'schemas EndpointExplanation status': 'the reason says more',
  'schemas EventTypes type': 'kinds of events are listed, and this is any of them',
  'schemas Health data engine': 'only what SQLite does otherwise is explained',
  'schemas Health data reason': 'a service that is not ready shows no dashboard',
  'schemas Job state': 'no screen shows jobs',
  'schemas Mail result': 'shown as it is named',
  'schemas OperatorEndpoint events': 'no screen shows endpoints of the operator',
  'schemas OperatorEvent kind': 'shown as it is named',
  'schemas OperatorKey scopes': 'each screen asks for the one that it needs',
  'schemas PortalLink scopes': 'each screen asks for the one that it needs',
  'schemas Replay scope': 'what was asked for, which is listed',
  'schemas RevertedRecord action': 'no screen reverts records',
  'schemas RevertedRecord notRestored reason': 'no screen reverts records',
  'schemas RevertedRecord released kind': 'no screen reverts records',
  'schemas SchemaJob state': 'no screen shows schema jobs',
  'schemas SchemaResult state': 'no screen shows schema jobs',
  'schemas SchemaResult changes change': 'no screen shows schema jobs',
  'schemas RuleTest caller': 'offered beside accounts',
  'schemas TestS3 filesystem': 'the dashboard sends it, from the section of each',
  'schemas FeedItem transition': 'no screen reads the feed',
};

test('a member that the API adds to an enumeration is a type error in the dashboard', (t) => {
  const document: unknown = JSON.parse(readFileSync(join(root, 'spec/openapi.json'), 'utf8'));
  const planted = new Map<string, string>();
  plant(document, { path: [], planted, names: new Map() });
  plantField(document);
  assert.ok(planted.size > 30);
  const folder = temporaryTree(t, {});
  cpSync(join(root, 'dashboard/src'), join(folder, 'dashboard/src'), { recursive: true });
  for (const path of ['tsconfig.json', 'dashboard/tsconfig.json'])
    cpSync(join(root, path), join(folder, path));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  writeTree(folder, { 'dashboard/src/api/schema.ts': dashboardTypes(document) });
  const { stdout } = spawnSync(
    join(root, 'node_modules/.bin/tsc'),
    ['-p', 'dashboard', '--noErrorTruncation', '--pretty', 'false'],
    { cwd: folder, encoding: 'utf8' },
  );
  const isReported = (member: string): boolean =>
    new RegExp(`Property '${member}' |missing the following properties .*\\b${member}\\b`).test(stdout);
  assert.ok(isReported(plantedType), 'a field type that is not listed is no type error');
  const unreported = [...planted].filter(([, member]) => !isReported(member)).map(([name]) => name);
  assert.deepEqual(unreported.toSorted(), Object.keys(unlisted).toSorted());
});

const plantedType = 'plantedtype';

interface Planting {
  /** Where the value is in the document. */
  readonly path: readonly string[];
  /** The new member of each enumeration, by where it comes first. */
  readonly planted: Map<string, string>;
  readonly names: Map<string, string>;
}

/** Adds a member to each enumeration: the same to equal ones. */
function plant(value: unknown, { path, planted, names }: Planting): void {
  if (Array.isArray(value)) for (const item of value) plant(item, { path, planted, names });
  if (!isJsonObject(value)) return;
  const members = value['enum'];
  if (Array.isArray(members) && members.every((member) => typeof member === 'string')) {
    const set = members.join('|');
    const name = names.get(set) ?? path.filter((part) => !isSyntax.test(part)).join(' ');
    names.set(set, name);
    const member = planted.get(name) ?? `planted${planted.size}`;
    planted.set(name, member);
    members.push(member);
  }
  for (const [part, item] of Object.entries(value)) plant(item, { path: [...path, part], planted, names });
}

const isSyntax =
  /^(?:components|properties|items|schema|oneOf|anyOf|paths|requestBody|content|application\/json)$/;

interface Description {
  readonly components: {
    readonly schemas: {
      readonly CollectionField: { readonly oneOf: object[] };
      readonly TextField: { readonly properties: object };
    };
  };
}

/** Adds a type of fields: one with the options of another. */
function plantField(document: unknown): void {
  // Our own file, which other tests compare whole with the routes.
  const { CollectionField, TextField } = (document as Description).components.schemas;
  CollectionField.oneOf.push({
    ...TextField,
    properties: { ...TextField.properties, type: { const: plantedType } },
  });
}
