import { useQuery } from '@tanstack/react-query';
import { recordCountQuery } from '../../api/records.ts';
import { Button } from '../../parts/button.tsx';
import { plural } from '../../parts/time.tsx';
import type { ShownRecords } from './column-layout.ts';
import { exportFormats, startExport } from './export-work.ts';
import { toFilter } from './record-filter.ts';
import { useWork } from './use-work.ts';
import { Problems, WorkProgress } from './work-progress.tsx';

/** All records that the filter selects, as a file. */
export function ExportForm({ collection, columns, filter, sort }: ShownRecords) {
  const { name } = collection;
  const expression = toFilter(collection, filter);
  const { data: total } = useQuery(recordCountQuery({ collection: name, filter: expression }));
  const work = useWork(name);
  const target = { kind: 'all', filter: expression, sort } as const;
  return (
    <div className="transfer-body">
      <p>
        {total === undefined ? 'The records' : plural(total, 'record')}
        {filter === '' ? '' : ' that the filter selects'}, in the order of the table. CSV has the visible
        columns, JSON and NDJSON have everything.
      </p>
      {work.state !== undefined && !work.isBusy && <Problems problems={[]} error={work.state.error} />}
      {work.isBusy ? (
        <WorkProgress done={work.state?.done ?? 0} total={total} verb="Exporting" onCancel={work.cancel} />
      ) : (
        <div className="dialog-actions">
          {exportFormats.map(({ value, label }) => (
            <Button
              key={value}
              onClick={() => void startExport(work, { collection, columns, target }, value)}
            >
              {label}
            </Button>
          ))}
        </div>
      )}
    </div>
  );
}
