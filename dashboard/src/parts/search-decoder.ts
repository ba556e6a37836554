/** What a member of an address may be: any text, or one of some words. */
type Member = 'text' | readonly string[];

type Decoded<Members> = {
  readonly [Name in keyof Members]?: Members[Name] extends readonly (infer Word)[] ? Word : string;
};

/** What decodes the members of an address: those that are not allowed there, and empty ones, are left out. */
export function searchDecoder<const Members extends Readonly<Record<string, Member>>>(members: Members) {
  return (search: Readonly<Record<string, unknown>>): Decoded<Members> => {
    const known = Object.entries(members).filter(([name, allowed]) => {
      const value = search[name];
      return typeof value === 'string' && value !== '' && (allowed === 'text' || allowed.includes(value));
    });
    // Each has just been checked.
    return Object.fromEntries(known.map(([name]) => [name, search[name]])) as Decoded<Members>;
  };
}
