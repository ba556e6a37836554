import { AppError } from '../base/errors.ts';
import { isJsonObject } from '../base/json.ts';
import { parseFields, type Projection } from '../query/projection.ts';
import { type FilterText, toFilterText } from '../query/rule-plan.ts';

/** The topic of a subscription: the records of a collection or one of them, or messages of another name. */
export interface Topic {
  /** As the client has written it, with its options: the name of its messages. */
  readonly text: string;
  /** The key by which a change finds its topics: {@link topicKey}. Of other topics, their name. */
  readonly key: string;
  /** Which rule decides. */
  readonly rule: 'listRule' | 'viewRule';
  /** As those of a request: the first value of each. */
  readonly query: ReadonlyMap<string, string>;
  /** By names in snake case: `x_token`. */
  readonly headers: ReadonlyMap<string, string>;
  readonly filter: FilterText | undefined;
  readonly fields: Projection | undefined;
  /** Whether a change that makes a record match, or match no more, is sent as `enter` or `leave`. */
  readonly transitions: boolean;
  /** The cursor behind which it begins; empty to begin now, with cursors. Undefined without cursors. */
  readonly since: string | undefined;
}

/** Returns the key of the topics about a record, or with `*` about all records. A collection has its name and its id. */
export function topicKey(collection: string, record: string): string {
  return `${collection.toLowerCase()}/${record}`;
}

/**
 * Parses a subscription: `posts/*`, `posts/<id>` or `posts`, which is the same as `posts/*`, with the options of a request behind it as JSON:
 * `posts/*?options={"query":{"filter":"…"}}` (http-api.md section 16). Throws bad_request.
 */
export function parseTopic(text: string): Topic {
  // It is sent as the name of an event, which is one line.
  if (/\p{Cc}/u.test(text)) throw refusal('The name of a subscription has no control characters.');
  const at = text.indexOf('?');
  const name = at === -1 ? text : text.slice(0, at);
  const options = at === -1 ? '' : (new URLSearchParams(text.slice(at + 1)).get('options') ?? '');
  const { query, headers } = parseOptions(options);
  const slash = name.indexOf('/');
  const record = slash === -1 ? '*' : name.slice(slash + 1);
  const collection = slash === -1 ? name : name.slice(0, slash);
  const filter = query.get('filter') ?? '';
  return {
    text,
    key: topicKey(collection, record),
    rule: record === '*' ? 'listRule' : 'viewRule',
    query,
    headers,
    filter: filter === '' ? undefined : toFilterText(filter),
    fields: parseFields(query.get('fields') ?? ''),
    transitions: booleanOf(query, 'transitions'),
    since: query.get('since'),
  };
}

function booleanOf(query: ReadonlyMap<string, string>, name: string): boolean {
  const text = query.get(name) || 'false';
  if (text === 'true' || text === 'false') return text === 'true';
  throw refusal(`Expected true or false as ${name} of a subscription.`);
}

interface TopicOptions {
  readonly query: ReadonlyMap<string, string>;
  readonly headers: ReadonlyMap<string, string>;
}

/** Most subscriptions have none: all of them share these. */
const noOptions: TopicOptions = { query: new Map(), headers: new Map() };

function parseOptions(text: string): TopicOptions {
  if (text === '') return noOptions;
  const options = parseObject(text);
  const query = textsOf(options['query'], (name) => name);
  return { query, headers: textsOf(options['headers'], (name) => name.toLowerCase().replaceAll('-', '_')) };
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const parsed: unknown = JSON.parse(text);
    if (isJsonObject(parsed)) return parsed;
  } catch {
    // As for JSON of another kind.
  }
  throw refusal('Expected a JSON object as the options of a subscription.');
}

function textsOf(members: unknown, toName: (name: string) => string): ReadonlyMap<string, string> {
  if (members === undefined || members === null) return new Map();
  if (!isJsonObject(members)) throw refusal('Expected objects as query and headers of a subscription.');
  const texts = Object.entries(members).map(([name, value]) => [toName(name), toText(value)] as const);
  return new Map(texts);
}

/** Clients send numbers and booleans as they are. */
function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (value === null) return '';
  throw refusal('Expected texts in query and headers of a subscription.');
}

function refusal(message: string): AppError {
  return new AppError('bad_request', message);
}
