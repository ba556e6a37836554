import { isJsonObject, type JsonObject } from '../../base/json.ts';
import { version } from '../../app.ts';
import { type Api, ApiRefusal, itemsOf, objectOf } from '../api/api.ts';
import type { Check } from './checks.ts';
import { durationText } from '../terminal/duration-text.ts';

/** Checks an instance by what it says of itself: its deliveries, and what its settings name. */
export async function checkInstance(api: Api): Promise<readonly Check[]> {
  const health = memberOf(objectOf(await api.request('GET', '/api/health')), 'data');
  if (health['version'] === undefined)
    return [
      {
        name: 'instance',
        state: 'warning',
        message: 'Only superusers and keys with the scope admin get details.',
        advice: 'Sign in with chancery login, or give --token.',
      },
    ];
  const settings = objectOf(await api.request('GET', '/api/settings'));
  return [
    checkVersion(health),
    ...warningsOf(health),
    ...checkDeliveries(health),
    ...(await checkEndpoints(api)),
    checkMail(settings),
    await checkStore(api, settings),
    await checkPublicUrl(settings),
  ];
}

function memberOf(json: JsonObject, name: string): JsonObject {
  const member = json[name];
  return isJsonObject(member) ? member : {};
}

function checkVersion({ version: theirs, engine, instanceId }: JsonObject): Check {
  const message = `Chancery ${String(theirs)} on ${String(engine)}, instance ${String(instanceId)}.`;
  if (theirs === version) return { name: 'instance', state: 'ok', message };
  const advice = `This command is of ${version}: use the same version where something is missing.`;
  return { name: 'instance', state: 'warning', message, advice };
}

function warningsOf({ warnings }: JsonObject): readonly Check[] {
  const texts: readonly unknown[] = Array.isArray(warnings) ? warnings : [];
  return texts.map((text) => ({ name: 'instance', state: 'warning', message: String(text) }));
}

const waitingWarningSeconds = 15 * 60;

function checkDeliveries({ oldestUndeliveredSeconds, exhaustedLastDay }: JsonObject): readonly Check[] {
  const name = 'deliveries';
  const [age, exhausted] = [Number(oldestUndeliveredSeconds), Number(exhaustedLastDay)];
  const advice = 'GET /api/webhooks/lanes names the endpoints that fail, and why.';
  const message =
    age === 0 ? 'No event waits for an endpoint.' : `The oldest event has waited for ${durationText(age)}.`;
  const waiting: Check =
    age > waitingWarningSeconds
      ? { name, state: 'warning', message, advice }
      : { name, state: 'ok', message };
  if (exhausted === 0) return [waiting];
  const lost = `${exhausted} deliveries were exhausted in the last 24 hours.`;
  return [
    waiting,
    { name, state: 'warning', message: lost, advice: 'Replay them once the receiver is well.' },
  ];
}

/** Names endpoints that fail, as far as a page goes, and disabled ones. */
async function checkEndpoints(api: Api): Promise<readonly Check[]> {
  const query = {
    filter: "state != 'closed' || status = 'disabled'",
    perPage: endpointsMax + 1,
    skipTotal: 'true',
  };
  const lanes = itemsOf(await api.request('GET', '/api/webhooks/lanes', { query }));
  const checks = lanes.slice(0, endpointsMax).map(({ id, url, status, since, cause }): Check => {
    const when = since === '' ? '' : ` since ${String(since)}`;
    const what = status === 'disabled' ? 'is disabled' : `fails${when}`;
    const why = cause === '' ? '' : `: ${String(cause)}`;
    const message = `${String(url)} (${String(id)}) ${what}${why}.`;
    return {
      name: 'endpoint',
      state: 'warning',
      message,
      advice: `See chancery endpoint show ${String(id)}.`,
    };
  });
  if (lanes.length <= endpointsMax) return checks;
  return [
    ...checks,
    { name: 'endpoint', state: 'warning', message: 'More endpoints fail: see GET /api/webhooks/lanes.' },
  ];
}

const endpointsMax = 20;

function checkMail(settings: JsonObject): Check {
  const name = 'mail';
  const [smtp, meta] = [memberOf(settings, 'smtp'), memberOf(settings, 'meta')];
  if (smtp['enabled'] !== true)
    return {
      name,
      state: 'warning',
      message: 'No mail is sent: no server is set.',
      advice: 'Set smtp in the settings, or nobody can reset a password.',
    };
  const server = `${String(smtp['host'])}:${String(smtp['port'])}`;
  const sender = String(meta['senderAddress']);
  if (!sender.endsWith('@example.com'))
    return { name, state: 'ok', message: `Mails of ${sender} go by ${server}.` };
  const advice = 'Set meta.senderAddress, and send yourself a test by POST /api/settings/test/email.';
  return { name, state: 'warning', message: `Mails are sent by ${sender}, which is an example.`, advice };
}

async function checkStore(api: Api, settings: JsonObject): Promise<Check> {
  const name = 'files';
  const s3 = memberOf(settings, 's3');
  if (s3['enabled'] !== true) return { name, state: 'ok', message: 'They are stored on the disk.' };
  const place = `the bucket ${String(s3['bucket'])} of ${String(s3['endpoint'])}`;
  try {
    await api.request('POST', '/api/settings/test/s3', { body: { filesystem: 'storage' } });
    return { name, state: 'ok', message: `A file was stored in ${place}, read and removed.` };
  } catch (error) {
    if (!(error instanceof ApiRefusal)) throw error;
    return { name, state: 'failure', message: error.message, advice: `Check s3 in the settings: ${place}.` };
  }
}

const answerMsMax = 10_000;

/** Checks that the links in mails lead here. */
async function checkPublicUrl(settings: JsonObject): Promise<Check> {
  const name = 'public URL';
  const url = String(memberOf(settings, 'meta')['appURL']);
  const parsed = URL.parse(url);
  const set = 'Set meta.appURL in the settings: links in mails begin with it.';
  if (parsed === null)
    return { name, state: 'failure', message: `${JSON.stringify(url)} is no URL.`, advice: set };
  if (['localhost', '127.0.0.1', '[::1]'].includes(parsed.hostname))
    return { name, state: 'warning', message: `${url} is this machine alone.`, advice: set };
  if (parsed.protocol !== 'https:')
    return { name, state: 'warning', message: `${url} is not https.`, advice: set };
  try {
    const signal = AbortSignal.timeout(answerMsMax);
    const answer = await fetch(new URL('/api/health/live', url), { signal });
    const isOurs = answer.status === 200 && (await answer.text()).includes('"The service is alive."');
    if (isOurs) return { name, state: 'ok', message: `${url} leads to a service.` };
    return { name, state: 'warning', message: `${url} leads to something else.`, advice: set };
  } catch (error) {
    const cause = error instanceof Error ? (error.cause ?? error) : error;
    const reason = cause instanceof Error ? cause.message : String(cause);
    return { name, state: 'warning', message: `${url} cannot be reached from here: ${reason}.`, advice: set };
  }
}
