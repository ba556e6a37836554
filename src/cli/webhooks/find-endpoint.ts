import { printText } from '../../filters/scan.ts';
import { type Api, ApiRefusal, itemsOf } from '../api/api.ts';

export const endpointsPath = '/api/webhooks/endpoints';

export function endpointPath(id: string): string {
  return `${endpointsPath}/${encodeURIComponent(id)}`;
}

/** What the service makes as an id. A name may look like one. */
const idForm = /^[a-z0-9]{15}$/;

/**
 * Runs `work` with the id of an endpoint that is named by its id or by its name. What looks like an id is first taken for one, so that it
 * costs no request more, and a key that may not read endpoints can use ids. Throws what `work` throws of an endpoint that there is not.
 */
export async function withEndpoint<Result>(
  api: Api,
  text: string,
  work: (id: string) => Promise<Result>,
): Promise<Result> {
  if (!idForm.test(text)) return work((await findByName(api, text)) ?? text);
  try {
    return await work(text);
  } catch (error) {
    if (!(error instanceof ApiRefusal) || error.status !== 404) throw error;
    const id = await findByName(api, text);
    if (id === undefined) throw error;
    return work(id);
  }
}

/** Returns the id of an endpoint that is named by its id or by its name; the text itself where there is none. */
export async function endpointIdOf(api: Api, text: string): Promise<string> {
  const filter = `id = ${printText(text)} || name = ${printText(text)}`;
  const query = { filter, fields: 'id', perPage: 2, skipTotal: 'true' };
  const ids = itemsOf(await api.request('GET', endpointsPath, { query })).map(({ id }) => String(id));
  return ids.includes(text) ? text : (ids[0] ?? text);
}

async function findByName(api: Api, name: string): Promise<string | undefined> {
  if (name === '') return undefined;
  const query = { filter: `name = ${printText(name)}`, fields: 'id', perPage: 1, skipTotal: 'true' };
  const [endpoint] = itemsOf(await api.request('GET', endpointsPath, { query }));
  return endpoint === undefined ? undefined : String(endpoint['id']);
}
