const lengthMax = 72;
const bannedVerbs = ['say', 'let', 'tell', 'ask', 'take', 'give', 'have'];
/** The other forms of these verbs: every other third person ends in s, and every other past in ed. */
const bannedForms = new Set([...bannedVerbs, 'said', 'told', 'took', 'gave', 'has', 'had']);
/** Imperatives that end like another form: Pass and Need are none of these, as they end in ss and eed. */
const imperatives = new Set([
  'bias',
  'bring',
  'bypass',
  'embed',
  'focus',
  'ping',
  'shed',
  'shred',
  'string',
  'swing',
]);

/** Returns what is wrong with the subject of a commit; undefined for `<Verb> <object>` as CONTRIBUTING.md describes it. */
export function checkSubject(subject: string): string | undefined {
  const [first = '', ...rest] = subject.split(' ');
  const verb = first.toLowerCase();
  const { length } = subject;
  if (length > lengthMax) return `has ${length} characters, at most ${lengthMax} are allowed`;
  if (subject.endsWith('.')) return 'ends with a full stop';
  if (!/^[A-Z][a-z]+(-[a-z]+)?$/.test(first)) return 'does not begin with a capitalised verb';
  if (rest.join('').length === 0) return 'names no object after its verb';
  const isBanned =
    bannedForms.has(verb) || bannedVerbs.some((banned) => verb === `${banned}s` || verb === `${banned}ed`);
  if (isBanned) return `begins with ${first}, which says nothing of the change`;
  if (!isImperative(verb)) return `begins with ${first}, which is not in the imperative`;
  return undefined;
}

/** True unless the form of the verb is one of `adds`, `added` and `adding`. */
function isImperative(verb: string): boolean {
  return imperatives.has(verb) || !/(?<!s)s$|(?<!e)ed$|ing$/.test(verb);
}
