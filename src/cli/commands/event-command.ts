import { Command } from 'commander';
import { isJsonObject, type JsonObject } from '../../base/json.ts';
import { itemsOf, objectOf } from '../api/api.ts';
import { confirm } from '../terminal/confirm.ts';
import { attemptsOf, lastAnswer, recordOf } from '../webhooks/delivery-rows.ts';
import { isSet, textOf } from '../terminal/flags.ts';
import { addListOptions, listQuery } from '../api/list-options.ts';
import { type CommandIo, print } from '../terminal/print.ts';
import { type Column, jsonText, showItem, showList } from '../terminal/show.ts';
import { addApiFlags, withApi } from '../api/with-api.ts';

const path = '/api/webhooks/events';

/** `event list|show|why|expunge` */
export function eventCommand(io: CommandIo): Command {
  const command = new Command('event').description('inspect the log of events');
  addList(command, io);
  addShow(command, io);
  addWhy(command, io);
  addExpunge(command, io);
  return command;
}

const columns: readonly Column[] = [
  'id',
  { title: 'event', of: ({ kind }) => kind },
  { title: 'record', of: recordOf },
  'revision',
  { title: 'deliveries', of: (event) => countsOf(event) },
  'created',
];

function addList(parent: Command, io: CommandIo): void {
  const command = parent.command('list').description('show a page of events, the newest first');
  command.option('--record <COLLECTION/ID>', 'only events of this record');
  addListOptions(command, { filter: "collection = 'posts' && kind = 'record.delete'", sort: 'created' });
  addApiFlags(command);
  command.action(async () => {
    const record = textOf(command, 'record');
    const query = { ...listQuery(command), sort: textOf(command, 'sort') ?? '-created', record };
    const answer = await withApi(command, io, (api) => api.request('GET', path, { query }));
    await showList(io, itemsOf(answer), { columns, isJson: isSet(command, 'json') });
  });
}

function deliveriesOf({ deliveries }: JsonObject): readonly JsonObject[] {
  return Array.isArray(deliveries) ? deliveries.filter(isJsonObject) : [];
}

/** Returns how many deliveries of an event have each status, as `2 delivered, 1 pending`. */
function countsOf(event: JsonObject): string {
  const byStatus = Map.groupBy(deliveriesOf(event), ({ status }) => String(status));
  return [...byStatus].map(([status, its]) => `${its.length} ${status}`).join(', ');
}

function addShow(parent: Command, io: CommandIo): void {
  const command = parent.command('show').description('show an event with its body and its deliveries');
  command.argument('<event>', 'its id, which receivers see as webhook-id');
  addApiFlags(command);
  command.action(async (id: string) => {
    const isJson = isSet(command, 'json');
    const event = objectOf(
      await withApi(command, io, (api) => api.request('GET', `${path}/${encodeURIComponent(id)}`)),
    );
    await showItem(io, isJson ? event : storyOf(event), { isJson });
  });
}

/** Returns an event as people read it: what happened, what each endpoint was told of it, and the body that they get. */
function storyOf(event: JsonObject): JsonObject {
  const { id, kind, revision, created, expunged, body } = event;
  const deliveries = deliveriesOf(event).map((delivery): readonly [string, string] => {
    const count = attemptsOf(delivery).length;
    const attempts = `${count} ${count === 1 ? 'attempt' : 'attempts'}`;
    const last = lastAnswer(delivery);
    const what = `${String(delivery['status'])} after ${attempts}${last === '' ? '' : `: ${last}`}`;
    return [`delivery ${String(delivery['id'])}`, what];
  });
  return {
    id,
    event: kind,
    ...(recordOf(event) !== '' && { record: recordOf(event) }),
    revision,
    created,
    ...Object.fromEntries(deliveries),
    ...(body === null ? { expunged } : { body: jsonText(body) }),
  };
}

const whyColumns: readonly Column[] = [
  'endpoint',
  'name',
  'reason',
  { title: 'what was false', of: falseOf },
  { title: 'changed since', of: ({ changed }) => (Array.isArray(changed) ? changed.join(', ') : '?') },
];

function addWhy(parent: Command, io: CommandIo): void {
  const command = parent.command('why').description('show why each endpoint received an event, or did not');
  command.argument('<event>', 'its id, which receivers see as webhook-id');
  command.option('--endpoint <ID>', 'only this one');
  addApiFlags(command);
  command.action(async (id: string) => {
    const lines = await withApi(command, io, async (api) => {
      const reasons: JsonObject[] = [];
      let cursor: unknown = '';
      while (typeof cursor === 'string') {
        const query = { endpoint: textOf(command, 'endpoint'), perPage: '500', cursor };
        const answer = await api.request('GET', `${path}/${encodeURIComponent(id)}/why`, { query });
        reasons.push(...itemsOf(answer));
        cursor = objectOf(answer)['nextCursor'];
      }
      return reasons;
    });
    await showList(io, lines, { columns: whyColumns, isJson: isSet(command, 'json') });
  });
}

/** Returns what of a filter was false, as `rank > 5 (0, 5)`. */
function falseOf({ comparisons }: JsonObject): string {
  const all = Array.isArray(comparisons) ? comparisons.filter(isJsonObject) : [];
  return all
    .map(({ text, isHidden, sides }) => {
      if (isHidden === true) return 'hidden';
      const values = Array.isArray(sides) ? sides.filter(isJsonObject).map((side) => side['values']) : [];
      return `${String(text)} (${values.map(valuesText).join(', ')})`;
    })
    .join('; ');
}

function valuesText(values: unknown): string {
  return Array.isArray(values) && values.length === 1 ? jsonText(values[0]) : jsonText(values);
}

function addExpunge(parent: Command, io: CommandIo): void {
  const command = parent
    .command('expunge')
    .description('delete the body of an event and its responses; pending deliveries are cancelled');
  command.argument('<event>', 'its id, which receivers see as webhook-id');
  command.option('--yes', 'do not confirm');
  addApiFlags(command);
  command.action(async (id: string) => {
    const eventPath = `${path}/${encodeURIComponent(id)}`;
    await withApi(command, io, async (api) => {
      // First: nobody should have to type the id of an event that is not there.
      await api.request('GET', eventPath, { query: { fields: 'id' } });
      const loss = `the body of the event ${id}, and what receivers have answered to it`;
      await confirm(io, { loss, name: id, place: api.place }, isSet(command, 'yes'));
      await api.request('DELETE', `${eventPath}/body`);
    });
    if (!isSet(command, 'json')) await print(io, `The body of the event ${id} is deleted.\n`);
  });
}
