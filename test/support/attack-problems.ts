export interface Attack {
  readonly id: string;
  readonly what: string;
  /** Parts of test titles; the id itself stands for all titles that contain it. */
  readonly tests?: readonly string[];
  readonly reason?: string;
}

export interface AttackGroup {
  readonly id: string;
  readonly last: number;
  readonly unused: readonly number[];
  readonly rows: readonly Attack[];
}

/** Returns the problems of a table of attacks, compared with the titles of all tests. */
export function attackProblems(groups: readonly AttackGroup[], titles: readonly string[]): readonly string[] {
  const rows = groups.flatMap((group) => group.rows);
  return [
    ...groups.flatMap(numberProblems),
    ...rows.flatMap((row) => rowProblems(row, titles)),
    ...titleProblems(groups, rows, titles),
  ];
}

function numberProblems({ id, last, unused, rows }: AttackGroup): readonly string[] {
  const known = [...unused.map((number) => idOf(id, number)), ...rows.map((row) => row.id)];
  const wanted = Array.from({ length: last }, (_, index) => idOf(id, index + 1));
  return [
    ...wanted.filter((one) => !known.includes(one)).map((one) => `${one} is missing`),
    ...known.filter((one, index) => known.indexOf(one) !== index).map((one) => `${one} is there twice`),
    ...known.filter((one) => !wanted.includes(one)).map((one) => `${one} is not of the numbers of ${id}`),
  ];
}

function idOf(group: string, number: number): string {
  return `${group}-${String(number).padStart(2, '0')}`;
}

function rowProblems(
  { id, what, tests = [], reason = '' }: Attack,
  titles: readonly string[],
): readonly string[] {
  const isShown = (part: string): boolean => part !== '' && titles.some((title) => title.includes(part));
  return [
    ...(what === '' ? [`${id} does not say what it is`] : []),
    ...(tests.length === 0 && reason === '' ? [`${id} has neither a test nor a reason`] : []),
    ...tests.filter((part) => !isShown(part)).map((part) => `${id} names a test that there is not: ${part}`),
  ];
}

/** Reports titles that name an attack whose row does not list them. */
function titleProblems(
  groups: readonly AttackGroup[],
  rows: readonly Attack[],
  titles: readonly string[],
): readonly string[] {
  const carried = new RegExp(`\\b(?:${groups.map(({ id }) => id).join('|')})-\\d\\d\\b`, 'g');
  const byId = new Map(rows.map((row) => [row.id, row]));
  return titles.flatMap((title) =>
    (title.match(carried) ?? []).flatMap((id) => {
      const row = byId.get(id);
      if (row === undefined) return [`no row is for ${id}, which a title carries: ${title}`];
      return row.tests?.includes(id) === true ? [] : [`${id} does not name a test that carries it: ${title}`];
    }),
  );
}
