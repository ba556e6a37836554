import assert from 'node:assert/strict';

/** Opens pages and submits their forms as a browser without JavaScript does, with cookies. */
export class FormBrowser {
  readonly #origin: string;
  readonly #cookies = new Map<string, string>();
  #path = '/';
  #html = '';

  constructor(origin: string) {
    this.#origin = origin;
  }

  /** Returns the HTML of a page, without the comments that frameworks put between texts. */
  async open(path: string): Promise<string> {
    return this.#load(path);
  }

  /** Submits the form of the page that has all of these fields, with its hidden ones, and returns the page that follows. */
  async submit(fields: Readonly<Record<string, string>>): Promise<string> {
    const forms = [...this.#html.matchAll(/<form\b([^>]*)>(.*?)<\/form>/gs)];
    const form = forms.find(([, , inner = '']) =>
      Object.keys(fields).every((name) => inner.includes(`name="${name}"`)),
    );
    assert.ok(form !== undefined, `no form with ${Object.keys(fields).join(', ')}: ${this.#html}`);
    const [, attributes = '', inner = ''] = form;
    const body = new FormData();
    for (const [input] of inner.matchAll(/<input\b[^>]*type="hidden"[^>]*>/g))
      body.set(attributeOf(input, 'name') ?? '', attributeOf(input, 'value') ?? '');
    for (const [name, value] of Object.entries(fields)) body.set(name, value);
    const action = attributeOf(attributes, 'action') ?? '';
    return this.#load(new URL(action, this.#origin + this.#path).href.slice(this.#origin.length), {
      method: 'POST',
      body,
    });
  }

  async #load(path: string, init: Omit<RequestInit, 'headers'> = {}): Promise<string> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { origin: this.#origin, accept: 'text/html', ...(cookie !== '' && { cookie }) };
    const response = await fetch(this.#origin + path, { ...init, headers, redirect: 'manual' });
    for (const text of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(text) ?? [];
      this.#cookies.set(name, value);
    }
    const html = (await response.text()).replaceAll(/<!--.*?-->/gs, '');
    const location = response.headers.get('location');
    if (location !== null)
      return this.open(new URL(location, this.#origin + path).href.slice(this.#origin.length));
    assert.ok(response.status < 500, `${path}: ${response.status} ${html}`);
    [this.#path, this.#html] = [path, html];
    return html;
  }
}

function attributeOf(tag: string, name: string): string | undefined {
  return new RegExp(`\\b${name}="([^"]*)"`)
    .exec(tag)?.[1]
    ?.replaceAll('&amp;', '&')
    .replaceAll('&quot;', '"');
}
