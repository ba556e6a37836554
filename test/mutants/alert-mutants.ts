import type { Mutant } from './mutant.ts';

const file = 'src/deliveries/endpoint-alerts.ts';
const tests = ['test/api/webhook-alerts.test.ts'];

/** Whom the service tells of what becomes of an endpoint, and how often. */
export const alertMutants: readonly Mutant[] = [
  {
    name: 'who is away is told of after an hour',
    file,
    from: 'now - awaySince >= awayAfterMs',
    to: 'now >= awaySince',
    tests,
  },
  {
    name: 'who is away is told of once',
    file,
    from: "!isSuccess && alerts.alert === '' &&",
    to: '!isSuccess &&',
    tests,
  },
  {
    name: 'only an alert that is stored is given',
    file: 'src/deliveries/lane-store.ts',
    from: '    WHERE ${names.instance.condition} AND endpoint = ${endpoint} AND alert = ${before.alert} AND exhausted_day = ${before.exhaustedDay}\n      AND ${fence} AND ${isUnchanged(tx, row)}`);\n  return changed > 0;',
    to: '    WHERE ${names.instance.condition} AND endpoint = ${endpoint} AND alert = ${before.alert} AND exhausted_day = ${before.exhaustedDay}\n      AND ${fence} AND ${isUnchanged(tx, row)}`);\n  return changed >= 0;',
    tests: ['src/deliveries/lane-alerts.test.ts'],
  },
  {
    name: 'who was not spoken of is not said to be back',
    file,
    from: "isSuccess && alerts.alert !== ''",
    to: "isSuccess && lane.state === 'closed'",
    tests,
  },
  {
    name: 'of exhausted deliveries the first of a day is told of',
    file,
    from: 'isExhausted && alerts.exhaustedDay < exhaustedDay',
    to: "isExhausted && exhaustedDay !== ''",
    tests,
  },
  {
    name: 'no two endpoints go on telling each other',
    file,
    from: "kind !== 'exhausted' || isOperational(delivered)",
    to: "kind !== 'exhausted'",
    tests,
  },
  {
    name: 'of failed attempts a sample is told of',
    file,
    from: 'toTimestamp(now - failureEveryMs)',
    to: 'toTimestamp(now)',
    tests,
  },
  {
    name: 'a failed attempt to tell of a failed attempt is not told of',
    file,
    from: '!isSuccess && !isOperational(kind)',
    to: "!isSuccess && kind !== ''",
    tests,
  },
  {
    name: 'a mail that is due is sent by whoever claims it first',
    file: 'src/deliveries/alert-mails.ts',
    from: 'SET value = ${value} WHERE ${isSame(tx, mail)}`)) > 0',
    to: 'SET value = ${value} WHERE ${isSame(tx, mail)}`)) >= 0',
    tests: ['test/api/webhook-alert-mails.test.ts'],
  },
  {
    name: 'an endpoint is not told of itself',
    file: 'src/endpoints/endpoint.ts',
    from: 'event.record !== endpoint.id &&',
    to: "event.record !== '' &&",
    tests,
  },
  {
    name: 'the mail of an alert has no more of a URL than its host',
    file: 'src/deliveries/alert-mails.ts',
    from: "URL.parse(endpoint.url)?.host ?? ''",
    to: 'endpoint.url',
    tests,
  },
  {
    name: 'a contact is an e-mail address',
    file: 'src/endpoints/endpoint-options.ts',
    from: "(typeof value === 'string' && isEmail(value))",
    to: "typeof value === 'string'",
    tests,
  },
];
