import * as fc from 'fast-check';
import type { StoredValue } from '../../src/fields/field-type.ts';
import { relatedNames, type RelatedName, type RelatedQuestion, type RelatedWorld } from './related-world.ts';

/** Few values, so that questions and records meet; what is odd about single values is asked in arbitrary-world.ts. */
const names = fc.constantFrom('', 'a', 'A', 'b', 'ab', 'é', '5', '5.0', 'a%', 'a_b', 'B');
const numbers = fc.constantFrom(0, 1, 2, 5, -1, 5.5, 100);
const bits = fc.nat(1);
const dates = fc.constantFrom(
  '',
  '2026-11-20 09:35:20.114Z',
  '2026-11-20 00:00:00.000Z',
  '2025-01-31 12:00:00.000Z',
  '2024-02-29 00:00:00.000Z',
);
const places = fc.constantFrom(
  '{"lon":0,"lat":0}',
  '{"lon":23.321868,"lat":42.697562}',
  '{"lon":2.3486,"lat":48.85881}',
  '{"lon":-180,"lat":90}',
);
const jsons = fc.constantFrom(
  null,
  '"a"',
  '5',
  '{"a":"a","list":[1,"b"]}',
  '{"a":5}',
  '[1,2]',
  'true',
  '{"a":null}',
);
const emails = fc.constantFrom('', 'a@example.com', 'b@example.com');
const tags = fc.subarray(['x', 'y', 'X', 'a%'], { maxLength: 3 }).map((chosen) => JSON.stringify(chosen));

const idsOf: Readonly<Record<RelatedName, readonly string[]>> = {
  teams: ['t1', 't2'],
  people: ['u1', 'u2', 'u3', 'u4'],
  posts: ['p1', 'p2', 'p3', 'p4', 'p5', 'p6'],
  comments: ['c1', 'c2', 'c3', 'c4', 'c5'],
  notes: ['n1', 'n2', 'n3'],
};
const allIds = Object.values(idsOf).flat();

/** Of one that there is, of none, or of one that is gone. */
const one = (target: RelatedName): fc.Arbitrary<string> =>
  fc.constantFrom('', 'gone', ...idsOf[target], ...idsOf[target]);
const many = (target: RelatedName): fc.Arbitrary<string> =>
  fc.subarray(['gone', ...idsOf[target]], { maxLength: 3 }).map((ids) => JSON.stringify(ids));

/** In the order of the fields of related-world.ts. */
const values: Readonly<Record<RelatedName, fc.Arbitrary<readonly StoredValue[]>>> = {
  teams: fc.tuple(names, places, one('people')),
  people: fc.tuple(names, numbers, bits, dates, jsons, names, emails, bits, one('teams'), many('people')),
  posts: fc.tuple(
    names,
    numbers,
    dates,
    jsons,
    places,
    fc.constantFrom('', 'x', 'y'),
    tags,
    one('people'),
    many('people'),
  ),
  comments: fc.tuple(numbers, names, one('posts'), one('people'), many('posts')),
  notes: fc.tuple(names, fc.constant('')),
};

/** What a name may end in, by collection. Multiple ones more often than they are. */
const leaves: Readonly<Record<RelatedName, readonly string[]>> = {
  teams: ['id', 'name', 'name:lower', 'place', 'place.lon', 'boss', 'boss.id'],
  people: [
    'id',
    'name',
    'name',
    'name:lower',
    'age',
    'age',
    'on',
    'born',
    'info',
    'info.a',
    'info.list.1',
    'email',
    'secret',
    'team',
    'team.id',
    'friends',
    'friends.id',
    'friends:each',
    'friends:length',
  ],
  posts: [
    'id',
    'title',
    'title',
    'title:lower',
    'n',
    'n',
    'due',
    'meta',
    'meta.a',
    'meta.0',
    'meta.a:lower',
    'place',
    'place.lat',
    'kind',
    'kind:each',
    'kind:length',
    'tags',
    'tags:each',
    'tags:each',
    'tags:length',
    'tags:lower',
    'author',
    'author.id',
    'readers',
    'readers.id',
    'readers:each',
    'readers:length',
  ],
  comments: [
    'id',
    'stars',
    'stars',
    'text',
    'text:lower',
    'post',
    'by.id',
    'about',
    'about:length',
    'about:each',
  ],
  notes: ['id', 'text', 'text:lower', 'post', 'post.id'],
};

const hops: Readonly<Record<RelatedName, readonly (readonly [segment: string, to: RelatedName])[]>> = {
  teams: [
    ['boss', 'people'],
    ['people_via_team', 'people'],
  ],
  people: [
    ['team', 'teams'],
    ['friends', 'people'],
    ['people_via_friends', 'people'],
    ['posts_via_author', 'posts'],
    ['posts_via_readers', 'posts'],
    ['comments_via_by', 'comments'],
    ['teams_via_boss', 'teams'],
  ],
  posts: [
    ['author', 'people'],
    ['author', 'people'],
    ['readers', 'people'],
    ['readers', 'people'],
    ['comments_via_post', 'comments'],
    ['comments_via_about', 'comments'],
    ['notes_via_post', 'notes'],
  ],
  comments: [
    ['post', 'posts'],
    ['by', 'people'],
    ['about', 'posts'],
  ],
  notes: [['post', 'posts']],
};

interface Walk {
  readonly prefix: string;
  readonly to: RelatedName;
}

function walk(from: Walk, count: number): fc.Arbitrary<Walk> {
  if (count === 0) return fc.constant(from);
  return fc
    .constantFrom(...hops[from.to])
    .chain(([segment, to]) => walk({ prefix: `${from.prefix}${segment}.`, to }, count - 1));
}

const leafOf = ({ prefix, to }: Walk): fc.Arbitrary<string> =>
  fc.constantFrom(...leaves[to]).map((leaf) => `${prefix}${leaf}`);

function pathsFrom(to: RelatedName): fc.Arbitrary<string> {
  const start = { prefix: '', to };
  const walks = fc.oneof(
    { weight: 3, arbitrary: walk(start, 0) },
    { weight: 6, arbitrary: walk(start, 1) },
    { weight: 3, arbitrary: walk(start, 2) },
    { weight: 1, arbitrary: walk(start, 3) },
  );
  return walks.chain(leafOf);
}

const others = fc
  .tuple(fc.constantFrom(...relatedNames), fc.constantFrom('', ':one', ':two'), fc.nat(1))
  .chain(([name, alias, count]) => walk({ prefix: `@collection.${name}${alias}.`, to: name }, count))
  .chain(leafOf);
const requests = fc.constantFrom(
  '@request.method',
  '@request.context',
  '@request.query.n',
  '@request.query.title',
  '@request.query.title:isset',
  '@request.headers.x_token:lower',
  '@request.body.title',
  '@request.body.n',
  '@request.body.title:isset',
  '@request.body.title:changed',
  '@request.body.n:changed',
  '@request.body.tags:each',
  '@request.body.tags:length',
  '@request.body.author.name',
  '@request.body.readers.age',
  '@request.body.readers.id',
  '@request.body.nothing',
  '@request.auth.id',
  '@request.auth.name',
  '@request.auth.friends.name',
  '@request.auth.team.name:lower',
  '@request.nothing.at.all',
);

const distances = fc
  .tuple(
    fc.constantFrom(
      'place',
      'place',
      'author.team.place',
      'readers.team.place',
      'comments_via_post.by.team.place',
    ),
    fc.constantFrom('0, 0', '2.3486, 48.85881', 'place.lon, place.lat', 'n, n'),
  )
  .map(([from, to]) => `geoDistance(${from}.lon, ${from}.lat, ${to})`);
const moments = fc
  .tuple(
    fc.constantFrom('%Y', '%F', '%j'),
    fc.constantFrom('due', 'author.born', 'readers.born', 'meta.a', 'n'),
    fc.constantFrom('', ", '+1 months'", ", 'start of year'"),
  )
  .map(([format, time, modifier]) => `strftime('${format}', ${time}${modifier})`);
const calls = fc.oneof(distances, moments);

const namesQuoted = names.map((name) => `'${name}'`);
const ids = fc.constantFrom(...allIds).map((id) => `'${id}'`);
const numerals = numbers.map(String);
const odd = fc.constantFrom(
  'null',
  'true',
  "'x'",
  '\'["x"]\'',
  "'2026'",
  "'2025-02-28'",
  '1757.6',
  '@now',
  "'a@example.com'",
);
const anyLiteral = fc.oneof(namesQuoted, numerals, ids, odd);

/** Mostly of the kind of the name, or hardly anything would match. */
function literalFor(name: string): fc.Arbitrary<string> {
  const fitting = /(?:age|stars|\bn|lon|lat|length|on)$|^geo/.test(name)
    ? numerals
    : /(?:id|author|boss|team|post|readers|friends|about)(?::each)?$/.test(name)
      ? ids
      : /(?:kind|tags)(?::each)?$/.test(name)
        ? fc.constantFrom("'x'", "'y'", "'X'")
        : namesQuoted;
  return fc.oneof({ weight: 4, arbitrary: fitting }, { weight: 1, arbitrary: anyLiteral });
}

const operators = fc
  .tuple(
    fc.constantFrom('', '?', '?'),
    fc.constantFrom('=', '=', '!=', '!=', '~', '!~', '<', '<=', '>', '>='),
  )
  .map((parts) => parts.join(''));

type Asker = 'rule' | 'guest';

/** `rule` what rules and superusers may ask with. */
function comparison(asker: Asker, from: RelatedName = 'posts'): fc.Arbitrary<string> {
  const paths = pathsFrom(from).filter((path) => asker === 'rule' || !path.endsWith('secret'));
  const named = fc.oneof(
    { weight: 10, arbitrary: paths },
    ...(from === 'posts' ? [{ weight: 1, arbitrary: calls }] : []),
    ...(asker === 'rule'
      ? [
          { weight: 1, arbitrary: others },
          { weight: 1, arbitrary: requests },
        ]
      : []),
  );
  const withLiteral = named.chain((name) => fc.tuple(fc.constant(name), operators, literalFor(name)));
  const either = withLiteral.chain(([name, operator, literal]) =>
    fc.constantFrom(`${name} ${operator} ${literal}`, `${literal} ${operator} ${name}`),
  );
  return fc.oneof(
    { weight: 3, arbitrary: withLiteral.map((parts) => parts.join(' ')) },
    { weight: 1, arbitrary: either },
    { weight: 1, arbitrary: fc.tuple(named, operators, named).map((parts) => parts.join(' ')) },
  );
}

/** Three comparisons at most: each may join a few collections, and rows of all of them are multiplied. */
function filters(asker: Asker): fc.Arbitrary<string> {
  const single = comparison(asker);
  const join = fc.constantFrom(' && ', ' || ');
  return fc.oneof(
    { weight: 3, arbitrary: single },
    { weight: 2, arbitrary: fc.tuple(single, join, single).map((parts) => parts.join('')) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(single, join, single, join, single)
        .map(([a, b, c, d, e]) => `(${a}${b}${c})${d}${e}`),
    },
  );
}

const sorts = fc
  .array(
    fc
      .tuple(
        fc.constantFrom('', '-'),
        pathsFrom('posts').filter((path) => !/secret$|info|meta/.test(path)),
      )
      .map((parts) => parts.join('')),
    { minLength: 1, maxLength: 2 },
  )
  .map((keys) => keys.join(','));

function question(asker: Asker): fc.Arbitrary<RelatedQuestion> {
  return fc.record(
    {
      filter: filters(asker),
      sort: sorts,
      page: fc.constantFrom('1', '2'),
      perPage: fc.constantFrom('2', '5'),
      isGuest: fc.constant(asker === 'guest'),
    },
    { requiredKeys: ['filter', 'isGuest'] },
  );
}

const rulesOf = (name: RelatedName): fc.Arbitrary<string | null> =>
  fc.oneof(
    { weight: 6, arbitrary: fc.constant('') },
    { weight: 3, arbitrary: comparison('rule', name) },
    // Of a list that nobody may see there is nothing to ask.
    { weight: name === 'posts' ? 0 : 1, arbitrary: fc.constant(null) },
  );

function table(name: RelatedName): fc.Arbitrary<readonly (readonly StoredValue[])[]> {
  return fc
    .tuple(
      fc.subarray([...idsOf[name]], { minLength: name === 'posts' ? 3 : 0 }),
      fc.array(values[name], { minLength: 6, maxLength: 6 }),
      fc.shuffledSubarray(['', 'gone', ...idsOf.posts]),
    )
    .map(([ids, rows, targets]) =>
      ids.map((id, index) => {
        const row = rows[index] ?? [];
        // No two of these refer to one post.
        return name === 'notes' ? [id, row[0] ?? '', targets[index] ?? `gone${index}`] : [id, ...row];
      }),
    );
}

/** Half of the questions are asked by a superuser, the others by a guest. */
export function arbitraryRelatedWorld(questionsMax: number): fc.Arbitrary<RelatedWorld> {
  return fc.record({
    rows: fc.record({
      teams: table('teams'),
      people: table('people'),
      posts: table('posts'),
      comments: table('comments'),
      notes: table('notes'),
    }),
    rules: fc.record({
      teams: rulesOf('teams'),
      people: rulesOf('people'),
      posts: rulesOf('posts'),
      comments: rulesOf('comments'),
      notes: rulesOf('notes'),
    }),
    questions: fc.array(
      fc.oneof({ weight: 3, arbitrary: question('rule') }, { weight: 2, arbitrary: question('guest') }),
      {
        minLength: questionsMax,
        maxLength: questionsMax,
      },
    ),
  });
}
