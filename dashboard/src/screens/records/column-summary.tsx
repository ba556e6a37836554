import * as Popover from '@radix-ui/react-popover';
import { useQuery } from '@tanstack/react-query';
import X from 'lucide-react/icons/x';
import { call, type Collection, type Field } from '../../api/client.ts';
import { IconButton } from '../../parts/button.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import { plural } from '../../parts/time.tsx';
import { type Point, usePointAnchor } from '../../parts/use-point-anchor.ts';
import { cellCondition } from './cell-condition.ts';
import { cellText } from './cell-value.tsx';

interface ColumnSummaryProps {
  readonly collection: Collection;
  readonly field: Field;
  readonly point: Point;
  readonly onFilter: (filter: string) => void;
  readonly onClose: () => void;
}

/** What the values of a column are over all records, to find those that are wrong: a click filters by a value. */
export function ColumnSummary({ collection, field, point, onFilter, onClose }: ColumnSummaryProps) {
  const { data, error, refetch } = useQuery(summaryQuery(collection, field));
  const anchor = usePointAnchor(point);
  const choose = (condition: string): void => {
    onFilter(condition);
    onClose();
  };
  return (
    <Popover.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Popover.Anchor virtualRef={anchor} />
      <Popover.Portal>
        <Popover.Content
          className="floating summary"
          align="start"
          collisionPadding={8}
          aria-label={`Summary of ${field.name}`}
          // The menu that it was chosen in hands the focus back to the table.
          onFocusOutside={(event) => event.preventDefault()}
          onCloseAutoFocus={(event) => event.preventDefault()}
        >
          <header className="summary-head">
            <h2 className="cut">{field.name}</h2>
            <IconButton small label="Close" onClick={onClose}>
              <X size={14} aria-hidden />
            </IconButton>
          </header>
          {error !== null && <FailureNotice error={error} onRetry={() => void refetch()} />}
          {data === undefined && error === null && <span className="placeholder" aria-busy />}
          {data !== undefined && <Values summary={data} field={field} onChoose={choose} />}
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}

interface ValuesProps {
  readonly summary: Summary;
  readonly field: Field;
  readonly onChoose: (condition: string) => void;
}

function Values({ summary, field, onChoose }: ValuesProps) {
  return (
    <>
      <p className="soft">
        {plural(summary.rows, 'record')}, {plural(summary.distinct, 'different value')}
      </p>
      <ul className="summary-values" aria-label="Ends and empty values">
        {summary.empty !== undefined && (
          <Line
            label="Empty"
            count={summary.empty.count}
            onChoose={() => onChoose(cellCondition(field, summary.empty?.value, false))}
          />
        )}
        {summary.ends.map(({ label, value }) => (
          <Line
            key={label}
            label={label}
            value={value}
            onChoose={() => onChoose(cellCondition(field, value, false))}
          />
        ))}
      </ul>
      <h3>Most frequent</h3>
      <ol className="summary-values" aria-label="Most frequent values">
        {summary.frequent.map(({ value, count }) => (
          <Line
            key={cellText(value)}
            value={value}
            count={count}
            share={count / Math.max(1, summary.rows)}
            onChoose={() => onChoose(cellCondition(field, value, false))}
          />
        ))}
      </ol>
    </>
  );
}

interface LineProps {
  readonly label?: string;
  readonly value?: unknown;
  readonly count?: number;
  readonly share?: number;
  readonly onChoose: () => void;
}

function Line({ label, value, count, share, onChoose }: LineProps) {
  const text = value === undefined ? '' : cellText(value);
  return (
    <li>
      <button type="button" className="summary-line" disabled={count === 0} onClick={onChoose}>
        {share !== undefined && <span className="summary-bar" style={{ inlineSize: `${share * 100}%` }} />}
        {label !== undefined && <span className="soft">{label}</span>}
        {value !== undefined && <span className="cut">{text === '' ? 'empty' : text.slice(0, 100)}</span>}
        {count !== undefined && <span className="summary-count">{count.toLocaleString()}</span>}
      </button>
    </li>
  );
}

interface Summary {
  readonly rows: number;
  readonly distinct: number;
  /** Undefined where a value is never empty. */
  readonly empty: { readonly value: unknown; readonly count: number } | undefined;
  readonly ends: readonly { readonly label: string; readonly value: unknown }[];
  readonly frequent: readonly { readonly value: unknown; readonly count: number }[];
}

/** Two queries like those of a view, over all records: they answer exactly, however many there are. */
function summaryQuery(collection: Collection, field: Field) {
  const [table, column] = [quoted(collection.name), quoted(field.name)];
  const { ends, empty, emptyValue } = partsOf(field, column);
  const figures = [
    `CAST('1' AS text) AS "id"`,
    `COUNT(*) AS "rows"`,
    `COUNT(DISTINCT ${column}) AS "different"`,
    ...(empty === undefined ? [] : [`COUNT(CASE WHEN ${empty} THEN 1 END) AS "empty"`]),
    ...(ends === undefined ? [] : [`${ends('MIN')} AS "least"`, `${ends('MAX')} AS "greatest"`]),
  ];
  const frequent = `SELECT CAST(ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC) AS text) AS "id", ${column} AS "value", COUNT(*) AS "rows" FROM ${table} GROUP BY ${column} ORDER BY COUNT(*) DESC LIMIT ${frequentMax}`;
  return {
    queryKey: ['records', collection.name, 'summary', field.name],
    gcTime: 0,
    queryFn: async ({ signal }: { readonly signal: AbortSignal }): Promise<Summary> => {
      const [[first = {}], values] = await Promise.all([
        dryRun(`SELECT ${figures.join(', ')} FROM ${table}`, signal),
        dryRun(frequent, signal),
      ]);
      const { least, greatest } = first;
      return {
        rows: Number(first['rows']),
        distinct: Number(first['different']),
        empty: empty === undefined ? undefined : { value: emptyValue, count: Number(first['empty']) },
        ends: [
          { label: 'Min', value: least },
          { label: 'Max', value: greatest },
        ].filter(({ value }) => value !== undefined && value !== null && value !== ''),
        frequent: values.map(({ value, rows }) => ({ value, count: Number(rows) })),
      };
    },
  };
}

const frequentMax = 8;

async function dryRun(query: string, signal: AbortSignal): Promise<readonly Row[]> {
  return (await call('POST /api/collections/meta/dry-run-view', { body: { query }, signal })).sample;
}

type Row = Readonly<Record<string, unknown>>;

function quoted(name: string): string {
  return `"${name}"`;
}

interface SummaryParts {
  readonly ends?: (aggregate: 'MIN' | 'MAX') => string;
  readonly empty?: string;
  readonly emptyValue?: unknown;
}

/** What has a least and a greatest value, and which values are empty, in the SQL of both engines. */
function partsOf(field: Field, column: string): SummaryParts {
  const isMany = 'maxSelect' in field && field.maxSelect > 1;
  if (isMany) return { empty: `CAST(${column} AS text) = '[]'`, emptyValue: [] };
  switch (field.type) {
    case 'bool':
    case 'geoPoint':
      return {};
    case 'number':
      return { ends: (aggregate) => `${aggregate}(${column})`, empty: `${column} = 0`, emptyValue: 0 };
    case 'json':
      return { empty: `${column} IS NULL`, emptyValue: null };
    default:
      return {
        ends: (aggregate) => `CAST(${aggregate}(NULLIF(${column}, '')) AS text)`,
        empty: `${column} = ''`,
        emptyValue: '',
      };
  }
}
