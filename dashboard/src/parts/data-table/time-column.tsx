import { Time, timeWidth } from '../time.tsx';
import type { DataColumn } from './table-layout.ts';

/** When the entry of a log was made: the service sorts by it. */
export const timeColumn: DataColumn<{ readonly created: string }> = {
  id: 'created',
  label: 'Time',
  size: timeWidth,
  kind: 'number',
  sort: 'service',
  cell: ({ created }) => <Time value={created} />,
};
