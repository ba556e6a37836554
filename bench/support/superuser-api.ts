/** Asks as a superuser; throws when the answer is no 2xx. A GET without a body, a POST with one, unless `method` is given. */
export type Api = (
  path: string,
  body?: unknown,
  method?: string,
) => Promise<Readonly<Record<string, unknown>>>;

/** Signs in at the instance that is served at `url`. */
export async function superuserApi(
  url: string,
  identity: { readonly identity: string; readonly password: string },
): Promise<Api> {
  let token = '';
  const api: Api = async (path, body, method) => {
    const response = await fetch(url + path, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: {
        authorization: token,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
    // Every answer of the API is an object.
    return text === '' ? {} : (JSON.parse(text) as Readonly<Record<string, unknown>>);
  };
  const signedIn = await api('/api/collections/_superusers/auth-with-password', identity);
  token = String(signedIn['token']);
  return api;
}
