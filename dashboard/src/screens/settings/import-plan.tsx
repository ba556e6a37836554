import CircleMinus from 'lucide-react/icons/circle-minus';
import CirclePlus from 'lucide-react/icons/circle-plus';
import PencilLine from 'lucide-react/icons/pencil-line';
import type { Collection } from '../../api/client.ts';
import type { Schemas } from '../../api/schema.ts';
import { Badge } from '../../parts/badge.tsx';
import { DataTable } from '../../parts/data-table/data-table.tsx';
import type { DataColumn } from '../../parts/data-table/table-layout.ts';
import { Notice } from '../../parts/notice.tsx';
import { plural } from '../../parts/time.tsx';

type Plan = Schemas['ImportPlan'];

interface PlanRow {
  readonly id: string;
  readonly name: string;
  readonly kind: 'delete' | 'create' | 'change';
  readonly tone: 'failed' | 'ok' | 'retrying';
  readonly details: readonly string[];
}

const icons = { delete: CircleMinus, create: CirclePlus, change: PencilLine };

const columns: readonly DataColumn<PlanRow>[] = [
  {
    id: 'kind',
    label: 'Change',
    size: 100,
    cell: ({ kind, tone }) => (
      <Badge tone={tone} icon={icons[kind]}>
        {kind}
      </Badge>
    ),
  },
  { id: 'name', label: 'Collection', size: 140, kind: 'main', cell: ({ name }) => name },
  {
    id: 'details',
    label: 'Details',
    size: 320,
    kind: 'wide',
    cell: ({ details }) => details.map((text) => <div key={text}>{text}</div>),
  },
];

/** What an import would change, collection by collection. */
export function ImportPlanView({ plan }: { readonly plan: Plan }) {
  const rows = rowsOf(plan);
  if (rows.length === 0) return <Notice tone="ok">No changes: everything is already like this.</Notice>;
  return (
    <DataTable
      name="import-plan"
      label="What would change"
      countOf={(count) => plural(count, 'collection')}
      columns={columns}
      rows={rows}
      empty={null}
    />
  );
}

function rowsOf({ created, changed, deleted }: Plan): readonly PlanRow[] {
  return [
    ...deleted.map(({ id, name }): PlanRow => {
      const details = ['with all of its records and files'];
      return { id, name, kind: 'delete', tone: 'failed', details };
    }),
    ...created.map(({ id, name, fields }): PlanRow => {
      const details = [fields.map((field) => field.name).join(', ')];
      return { id, name, kind: 'create', tone: 'ok', details };
    }),
    ...changed.map(({ before, after }): PlanRow => {
      const tone = lostFields(before, after).length > 0 ? 'failed' : 'retrying';
      return { id: before.id, name: after.name, kind: 'change', tone, details: changesOf(before, after) };
    }),
  ];
}

/** What an import would lose for good, in a sentence; empty for nothing. */
export function lossOf({ deleted, changed }: Plan): string {
  const fields = changed.flatMap(({ before, after }) =>
    lostFields(before, after).map((name) => `${after.name}.${name}`),
  );
  return [
    deleted.length === 0
      ? ''
      : `All records of ${deleted.map(({ name }) => name).join(', ')} are permanently deleted.`,
    fields.length === 0 ? '' : `The values of ${fields.join(', ')} are permanently deleted.`,
  ]
    .filter((text) => text !== '')
    .join(' ');
}

/** Names of fields whose values go: those that are left out, and those that become another type. */
function lostFields(before: Collection, after: Collection): readonly string[] {
  return before.fields
    .filter(({ id, type }) => after.fields.find((field) => field.id === id)?.type !== type)
    .map(({ name }) => name);
}

function changesOf(before: Collection, after: Collection): readonly string[] {
  const lost = lostFields(before, after);
  const added = after.fields.filter(({ id }) => before.fields.every((field) => field.id !== id));
  const renamed = after.fields.flatMap(({ id, name }) => {
    const was = before.fields.find((field) => field.id === id)?.name;
    return was === undefined || was === name ? [] : [`${was} → ${name}`];
  });
  const others = otherMembers(before, after);
  const lines = [
    before.name === after.name ? '' : `renamed from ${before.name}`,
    added.length === 0 ? '' : `new fields: ${added.map(({ name }) => name).join(', ')}`,
    renamed.length === 0 ? '' : `renamed fields: ${renamed.join(', ')}`,
    lost.length === 0 ? '' : `values lost: ${lost.join(', ')}`,
    others.length === 0 ? '' : `other changes: ${others.join(', ')}`,
  ];
  return lines.filter((line) => line !== '');
}

/** Members that are not the same, besides names and what stands above. */
function otherMembers(before: Collection, after: Collection): readonly string[] {
  const skipped: ReadonlySet<string> = new Set(['name', 'updated', 'fields']);
  const [was, is] = [new Map(Object.entries(before)), new Map(Object.entries(after))];
  const members = [...is.keys()].filter(
    (name) => !skipped.has(name) && JSON.stringify(was.get(name)) !== JSON.stringify(is.get(name)),
  );
  const fields = after.fields.flatMap((field) => {
    const same = before.fields.find(({ id, type }) => id === field.id && type === field.type);
    const isSame =
      same === undefined || JSON.stringify({ ...same, name: '' }) === JSON.stringify({ ...field, name: '' });
    return isSame ? [] : [`options of ${field.name}`];
  });
  return [...members, ...fields];
}
