import type { Language, OperationInput, OperationName, Request } from './operations.ts';

export interface SnippetContext {
  readonly apiUrl: string;
  readonly collection: string;
  readonly operation: OperationName;
  readonly input: OperationInput;
  readonly request: Request;
}

/** The same request in a language, ready to copy. The token stays out of it: it comes from the environment. */
export function snippet(language: Language, context: SnippetContext): string {
  if (language === 'js') return sdkSnippet(context);
  if (context.operation === 'realtime') return realtimeSnippet(language, context);
  if (language === 'curl') return curlSnippet(context);
  return language === 'fetch' ? fetchSnippet(context) : pythonSnippet(context);
}

function curlSnippet({ apiUrl, request: { method, path, body } }: SnippetContext): string {
  const lines = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}${shellText(apiUrl + path)}`,
    '-H "Authorization: $TOKEN"',
    ...(body === undefined ? [] : ['-H "Content-Type: application/json"', `-d ${shellText(body)}`]),
  ];
  return lines.join(' \\\n  ');
}

function shellText(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function sdkSnippet({ apiUrl, collection, operation, input, request }: SnippetContext): string {
  const { filter, sort } = input;
  const id = quote(input.id === '' ? 'RECORD_ID' : input.id);
  const records = `pb.collection(${quote(collection)})`;
  const options = Object.entries({ filter, sort })
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `${name}: ${quote(value)}`);
  const body = request.body ?? '{}';
  const calls: Readonly<Record<OperationName, string>> = {
    list: `const page = await ${records}.getList(1, 20${options.length === 0 ? '' : `, { ${options.join(', ')} }`});`,
    view: `const record = await ${records}.getOne(${id});`,
    create: `const record = await ${records}.create(${body});`,
    update: `const record = await ${records}.update(${id}, ${body});`,
    delete: `await ${records}.delete(${id});`,
    realtime: `await ${records}.subscribe('*', ({ action, record }) => {\n  console.log(action, record);\n});`,
  };
  return [
    "import PocketBase from 'pocketbase';",
    '',
    `const pb = new PocketBase(${quote(apiUrl)});`,
    'pb.authStore.save(process.env.TOKEN);',
    calls[operation],
  ].join('\n');
}

function fetchSnippet({ apiUrl, request: { method, path, body } }: SnippetContext): string {
  const headers =
    body === undefined
      ? '{ Authorization: token }'
      : "{ Authorization: token, 'Content-Type': 'application/json' }";
  const options = [
    ...(method === 'GET' ? [] : [`  method: ${quote(method)},`]),
    `  headers: ${headers},`,
    ...(body === undefined ? [] : [`  body: JSON.stringify(${indent(body)}),`]),
  ];
  return [
    `const response = await fetch(${quote(apiUrl + path)}, {`,
    ...options,
    '});',
    method === 'DELETE'
      ? 'console.log(response.status);'
      : 'console.log(response.status, await response.json());',
  ].join('\n');
}

function pythonSnippet({ apiUrl, request: { method, path, body } }: SnippetContext): string {
  return [
    'import json, os, urllib.request',
    '',
    'request = urllib.request.Request(',
    `    ${quote(apiUrl + path)},`,
    `    method=${quote(method)},`,
    body === undefined
      ? '    headers={"Authorization": os.environ["TOKEN"]},'
      : '    headers={"Authorization": os.environ["TOKEN"], "Content-Type": "application/json"},',
    ...(body === undefined ? [] : [`    data=json.dumps(json.loads(r'''${body}''')).encode(),`]),
    ')',
    'with urllib.request.urlopen(request) as response:',
    method === 'DELETE' ? '    print(response.status)' : '    print(response.status, json.load(response))',
  ].join('\n');
}

/** Realtime without the SDK: open the stream, then say over it what to hear of. */
function realtimeSnippet(language: Language, { apiUrl, collection }: SnippetContext): string {
  const url = `${apiUrl}/api/realtime`;
  const topic = `${collection}/*`;
  if (language === 'curl')
    return [
      `# The first event has the client id. Send it with your subscriptions.`,
      `curl -N '${url}' -H "Authorization: $TOKEN" &`,
      `curl '${url}' -H "Authorization: $TOKEN" \\`,
      '  -H "Content-Type: application/json" \\',
      `  -d '{ "clientId": "CLIENT_ID", "subscriptions": ["${topic}"] }'`,
    ].join('\n');
  if (language === 'fetch')
    return [
      `const stream = new EventSource(${quote(url)});`,
      `stream.addEventListener('PB_CONNECT', async ({ lastEventId }) => {`,
      `  await fetch(${quote(url)}, {`,
      "    method: 'POST',",
      "    headers: { Authorization: token, 'Content-Type': 'application/json' },",
      `    body: JSON.stringify({ clientId: lastEventId, subscriptions: [${quote(topic)}] }),`,
      '  });',
      '});',
      `stream.addEventListener(${quote(topic)}, ({ data }) => console.log(JSON.parse(data)));`,
    ].join('\n');
  return [
    'import json, os, urllib.request',
    '',
    'headers = {"Authorization": os.environ["TOKEN"], "Content-Type": "application/json"}',
    `stream = urllib.request.urlopen(urllib.request.Request(${quote(url)}, headers=headers))`,
    'for line in stream:',
    '    name, _, value = line.decode().strip().partition(":")',
    '    if name != "data":',
    '        continue',
    '    data = json.loads(value)',
    '    if "clientId" in data:',
    `        body = {"clientId": data["clientId"], "subscriptions": [${quote(topic)}]}`,
    '        urllib.request.urlopen(urllib.request.Request(',
    `            ${quote(url)}, json.dumps(body).encode(), headers, method="POST"`,
    '        ))',
    '    else:',
    '        print(data["action"], data["record"])',
  ].join('\n');
}

function quote(text: string): string {
  return JSON.stringify(text);
}

function indent(text: string): string {
  return text.replaceAll('\n', '\n  ');
}
