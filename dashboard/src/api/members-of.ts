/**
 * Lists of the closed sets of the service, each made of a table with a row for every member of a union in schema.ts. What the service adds to a
 * set, or takes out of it, is a type error at the table, so it cannot be forgotten on a screen.
 */

/** Returns the members of a set in the order of a table that has them all. */
export function membersOf<Member extends string>(
  table: Readonly<Record<Member, unknown>>,
): readonly Member[] {
  // Object.keys types every key as a string; the tables are literals, which have no other keys than their types.
  return Object.keys(table) as Member[];
}

/** Stands at the end of a `switch` that has a case for every member: one that is missing is a type error here. */
export function unreachable(member: never): never {
  throw new Error(`The dashboard does not know ${JSON.stringify(member)}.`);
}

/** Returns the members with their labels, as a select shows them. */
export function choicesOf<Member extends string>(
  labels: Readonly<Record<Member, string>>,
): readonly { readonly value: Member; readonly label: string }[] {
  return membersOf(labels).map((value) => ({ value, label: labels[value] }));
}

/** The same with what each means. */
export function explainedChoicesOf<Member extends string>(
  choices: Readonly<Record<Member, { readonly label: string; readonly help: string }>>,
): readonly { readonly value: Member; readonly label: string; readonly help: string }[] {
  return membersOf(choices).map((value) => ({ value, ...choices[value] }));
}
