import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { call, type Collection } from '../../api/client.ts';
import type { Schemas } from '../../api/schema.ts';
import { Combobox } from '../../parts/combobox.tsx';
import { kindNames } from '../../parts/delivery-words.ts';
import { LabelledField } from '../../parts/labelled-field.tsx';
import { MoreRows } from '../../parts/more-rows.tsx';
import { FailureNotice, Notice } from '../../parts/notice.tsx';
import { minuteText, parseTime } from '../../parts/time.tsx';
import { compareFields } from './story-changes.ts';

type Version = Schemas['RecordVersion'];

const perPage = 100;

interface CompareRevisionsProps {
  readonly collection: Collection;
  readonly id: string;
  /** The id of the last event, after which there is another version. */
  readonly last: string;
}

/** Two revisions of a record side by side: the last one and the one before, or which are chosen. */
export function CompareRevisions({ collection, id, last }: CompareRevisionsProps) {
  const history = useInfiniteQuery({
    queryKey: ['events', 'history', collection.id, id, last],
    queryFn: async ({ pageParam: cursor, signal }) => {
      const path = { collection: collection.name, id };
      const query = { perPage, ...(cursor !== '' && { cursor }) };
      return call('GET /api/collections/{collection}/records/{id}/history', { path, query, signal });
    },
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => nextCursor,
    placeholderData: keepPreviousData,
  });
  const [chosen, setChosen] = useState<{ readonly before?: string; readonly after?: string }>({});
  if (history.error !== null)
    return <FailureNotice error={history.error} onRetry={() => void history.refetch()} />;
  if (history.data === undefined) return <span className="placeholder" style={{ blockSize: 120 }} />;
  const versions = history.data.pages.flatMap(({ items }) => items);
  const after = versions.find((version) => version.id === chosen.after) ?? versions[0];
  const previous = after === undefined ? undefined : versions[versions.indexOf(after) + 1];
  const before = versions.find((version) => version.id === chosen.before) ?? previous ?? versions[1];
  if (after === undefined || before === undefined)
    return <Notice>The log has one revision of this record, so there is nothing to compare.</Notice>;
  return (
    <section className="revisions" aria-label="Compare revisions">
      <div className="revisions-choices">
        <VersionSelect
          label="Before"
          versions={versions}
          value={before}
          onChange={(version) => setChosen((old) => ({ ...old, before: version }))}
        />
        <VersionSelect
          label="After"
          versions={versions}
          value={after}
          onChange={(version) => setChosen((old) => ({ ...old, after: version }))}
        />
      </div>
      <RevisionTable collection={collection} before={before} after={after} />
      <MoreRows
        label="Load earlier revisions"
        isShown={history.hasNextPage}
        isBusy={history.isFetchingNextPage}
        onMore={() => void history.fetchNextPage()}
      />
    </section>
  );
}

interface VersionSelectProps {
  readonly label: string;
  readonly versions: readonly Version[];
  readonly value: Version;
  readonly onChange: (id: string) => void;
}

function VersionSelect({ label, versions, value, onChange }: VersionSelectProps) {
  const id = useId();
  return (
    <LabelledField id={id} label={label}>
      <Combobox
        id={id}
        label={label}
        value={value.id}
        choices={versions.map((version) => ({ value: version.id, label: versionText(version) }))}
        onChange={onChange}
      />
    </LabelledField>
  );
}

function versionText({ revision, kind, created }: Version): string {
  const date = parseTime(created);
  return `${revision} · ${kindNames[kind]} · ${date === undefined ? created : minuteText(date)}`;
}

interface RevisionTableProps {
  readonly collection: Collection;
  readonly before: Version;
  readonly after: Version;
}

function RevisionTable({ collection, before, after }: RevisionTableProps) {
  const [isShort, setIsShort] = useState(false);
  if (before.data === null || after.data === null)
    return <Notice>The values of a chosen revision were removed from the log.</Notice>;
  const fields = compareFields(collection, before.data, after.data);
  const changed = fields.filter(({ isChanged }) => isChanged);
  return (
    <>
      <label className="revisions-only">
        <input type="checkbox" checked={isShort} onChange={(event) => setIsShort(event.target.checked)} />
        Only the {changed.length} changed of {fields.length} fields
      </label>
      <table className="revisions-table">
        <thead>
          <tr>
            <th scope="col">Field</th>
            <th scope="col">Before</th>
            <th scope="col">After</th>
          </tr>
        </thead>
        <tbody>
          {(isShort ? changed : fields).map(({ name, isChanged, before: one, after: other }) => (
            <tr key={name} data-changed={isChanged ? '' : undefined}>
              <th scope="row">
                {name}
                {isChanged && <span className="badge">Changed</span>}
              </th>
              <td>{isChanged ? <del>{one}</del> : one}</td>
              <td>{isChanged ? <ins>{other}</ins> : other}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}
