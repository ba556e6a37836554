import CircleMinus from 'lucide-react/icons/circle-minus';
import CirclePlus from 'lucide-react/icons/circle-plus';
import PencilLine from 'lucide-react/icons/pencil-line';
import type { Collection } from '../../api/client.ts';
import type { Schemas } from '../../api/schema.ts';
import { Notice } from '../../parts/notice.tsx';

type Plan = Schemas['ImportPlan'];

/** What an import would change, collection by collection. */
export function ImportPlanView({ plan: { created, changed, deleted } }: { readonly plan: Plan }) {
  if (created.length + changed.length + deleted.length === 0)
    return <Notice tone="ok">No changes: everything is already like this.</Notice>;
  return (
    <ul className="panel settings-list" aria-label="What would change">
      {deleted.map(({ id, name }) => (
        <li key={id} className="settings-row">
          <span className="badge" data-tone="failed">
            <CircleMinus size={14} aria-hidden />
            delete
          </span>
          <span className="settings-row-main">
            <span className="settings-row-title">{name}</span>
            <span className="soft">with all of its records and files</span>
          </span>
        </li>
      ))}
      {created.map(({ id, name, fields }) => (
        <li key={id} className="settings-row">
          <span className="badge" data-tone="ok">
            <CirclePlus size={14} aria-hidden />
            create
          </span>
          <span className="settings-row-main">
            <span className="settings-row-title">{name}</span>
            <span className="soft">{fields.map((field) => field.name).join(', ')}</span>
          </span>
        </li>
      ))}
      {changed.map(({ before, after }) => (
        <li key={before.id} className="settings-row">
          <span className="badge" data-tone={lostFields(before, after).length > 0 ? 'failed' : 'retrying'}>
            <PencilLine size={14} aria-hidden />
            change
          </span>
          <span className="settings-row-main">
            <span className="settings-row-title">{after.name}</span>
            {changesOf(before, after).map((text) => (
              <span key={text} className="soft">
                {text}
              </span>
            ))}
          </span>
        </li>
      ))}
    </ul>
  );
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
