import * as fc from 'fast-check';
import type { StoredValue } from '../../src/fields/field-type.ts';
import { arbitraryRelatedPath } from './arbitrary-related-path.ts';
import {
  relatedNames,
  type RelatedCaller,
  type RelatedName,
  type RelatedQuestion,
  type RelatedWorld,
} from './related-world.ts';

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

/** One relation more often than none. */
const pathsFrom = (to: RelatedName): fc.Arbitrary<string> =>
  arbitraryRelatedPath({ prefix: '', to }, fc.constantFrom(0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 3));

const others = fc
  .tuple(fc.constantFrom(...relatedNames), fc.constantFrom('', ':one', ':two'))
  .chain(([name, alias]) =>
    arbitraryRelatedPath({ prefix: `@collection.${name}${alias}.`, to: name }, fc.nat(1)),
  );
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
  '@request.query.nothing',
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

type Asker = 'rule' | 'client';

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
      caller: asker === 'rule' ? fc.constant('superuser' as const) : clients,
    },
    { requiredKeys: ['filter', 'caller'] },
  );
}

const clients: fc.Arbitrary<RelatedCaller> = fc.constantFrom('guest', 'u1', 'u2');

/** Comparisons that most related records meet, or none: it shows which of them there are. */
const probe = fc
  .tuple(
    arbitraryRelatedPath({ prefix: '', to: 'posts' }, fc.constantFrom(1, 1, 1, 2, 2, 3)).filter(
      (path) => !path.endsWith('secret'),
    ),
    fc.constantFrom(
      "= ''",
      "!= ''",
      "?!= ''",
      '= null',
      "?= ''",
      "!= 'u1'",
      "!~ 'a'",
      "~ '%'",
      '> 0',
      '?< 5',
      "> 'a'",
    ),
  )
  .map((parts) => parts.join(' '));
const probes = fc.oneof(
  { weight: 3, arbitrary: probe },
  {
    weight: 2,
    arbitrary: fc.tuple(probe, fc.constantFrom(' && ', ' || '), probe).map((parts) => parts.join('')),
  },
);

/** From the first page on; half of the time, a cursor leads from page to page. */
const probingQuestion: fc.Arbitrary<RelatedQuestion> = fc.record(
  {
    filter: fc.oneof({ weight: 1, arbitrary: filters('client') }, { weight: 3, arbitrary: probes }),
    sort: sorts,
    perPage: fc.constantFrom('2', '5'),
    cursor: fc.constant(''),
    caller: clients,
  },
  { requiredKeys: ['caller'] },
);

/** Rules as they are written: of most callers they hide some records. */
const usualRules: Readonly<Record<RelatedName, readonly string[]>> = {
  teams: ['people_via_team.id ?= @request.auth.id', "boss.on = true || name = 'a'", "id != 't1'"],
  people: [
    'id = @request.auth.id || on = true',
    'friends.id ?= @request.auth.id',
    "team = @request.auth.team && id != 'u3'",
    'posts_via_author.readers.age > 1',
    "@collection.notes.post.author ?= id || name = 'a'",
  ],
  posts: [
    'author = @request.auth.id || n > 1',
    'readers.id ?= @request.auth.id || readers:length = 0',
    "id != 'p2'",
  ],
  comments: [
    'by = @request.auth.id || stars > 1',
    "post.author.on = true || about.title ?= 'a'",
    "id != 'c1'",
  ],
  notes: ['post.readers.id ?!= @request.auth.id', "text != ''"],
};

const rulesOf = (name: RelatedName, askers: RelatedAskers): fc.Arbitrary<string | null> => {
  const weights =
    askers === 'everybody'
      ? { open: 4, random: 3, usual: 3 }
      : name === 'posts'
        ? { open: 8, random: 1, usual: 2 }
        : { open: 2, random: 2, usual: 8 };
  return fc.oneof(
    { weight: weights.open, arbitrary: fc.constant('') },
    { weight: weights.random, arbitrary: comparison('rule', name) },
    { weight: weights.usual, arbitrary: fc.constantFrom(...usualRules[name]) },
    // Of a list that nobody may see there is nothing to ask.
    { weight: name === 'posts' ? 0 : 1, arbitrary: fc.constant(null) },
  );
};

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

/** Whose questions a world has: of superusers and of clients, or of clients alone. */
export type RelatedAskers = 'everybody' | 'clients';

export function arbitraryRelatedWorld(
  questionsMax: number,
  askers: RelatedAskers = 'everybody',
): fc.Arbitrary<RelatedWorld> {
  return fc.record({
    rows: fc.record({
      teams: table('teams'),
      people: table('people'),
      posts: table('posts'),
      comments: table('comments'),
      notes: table('notes'),
    }),
    rules: fc.record({
      teams: rulesOf('teams', askers),
      people: rulesOf('people', askers),
      posts: rulesOf('posts', askers),
      comments: rulesOf('comments', askers),
      notes: rulesOf('notes', askers),
    }),
    questions: fc.array(
      askers === 'clients'
        ? probingQuestion
        : fc.oneof({ weight: 1, arbitrary: question('rule') }, { weight: 1, arbitrary: question('client') }),
      {
        minLength: questionsMax,
        maxLength: questionsMax,
      },
    ),
  });
}
