import type { Random } from '../random.ts';
import type { LedgerEvent } from './ledger-state.ts';

/** Options of an endpoint that change what it is told and how, with what the ledger then expects. */
export interface EndpointWishes {
  readonly filter: string;
  readonly coalesce: boolean;
  readonly payload: 'full' | 'thin';
}

/** What an endpoint without options of its own has. */
export const noWishes: EndpointWishes = { filter: '', coalesce: false, payload: 'full' };

type Told = Pick<LedgerEvent, 'kind' | 'title'>;

/** Which events meet each filter, of writers who give every record that they write another title and body. */
const filters: ReadonlyMap<string, (event: Told) => boolean> = new Map([
  ['', () => true],
  ["title !~ '%1'", ({ title }: Told) => !title.endsWith('1')],
  ["title:changed = true && @old.title != ''", ({ kind }: Told) => kind === 'record.update'],
  [
    "@old.body = body || title ~ '%2'",
    ({ kind, title }: Told) => kind === 'record.delete' || title.endsWith('2'),
  ],
]);

const filteredShare = 0.5;
const coalescedShare = 0.3;
const thinShare = 0.3;

/** Draws options; `isPlain` for an endpoint that is to be told of everything. */
export function drawWishes(random: Random, isPlain: boolean): EndpointWishes {
  const [isFiltered, isCoalesced, isThin] = [random.unit(), random.unit(), random.unit()];
  const filter = random.pick([...filters.keys()].slice(1)) ?? '';
  return {
    filter: !isPlain && isFiltered < filteredShare ? filter : '',
    coalesce: !isPlain && isCoalesced < coalescedShare,
    payload: isThin < thinShare ? 'thin' : 'full',
  };
}

/** A backfill tells of a record as if it were made then. */
export function isMet({ filter }: EndpointWishes, event: Told): boolean {
  const told = event.kind === 'backfill' ? { ...event, kind: 'record.create' } : event;
  return filters.get(filter)?.(told) === true;
}
