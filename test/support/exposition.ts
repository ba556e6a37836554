import assert from 'node:assert/strict';

/** Metrics as Prometheus reads them. */
export class Scrape {
  /** The types of metrics, by name. */
  readonly types = new Map<string, string>();
  readonly helps = new Map<string, string>();
  /** Each value, by the name and the labels as they are written. */
  readonly values = new Map<string, number>();

  constructor(text: string) {
    for (const line of text.split('\n').filter((one) => one !== '')) this.#read(line);
  }

  static async of(url: string): Promise<Scrape> {
    const response = await fetch(url);
    assert.equal(response.status, 200);
    assert.match(response.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/);
    return new Scrape(await response.text());
  }

  /** The value of one series, 0 where there is none. */
  of(series: string): number {
    return this.values.get(series) ?? 0;
  }

  /** The series whose names begin like this. */
  seriesOf(start: string): readonly string[] {
    return [...this.values.keys()].filter((series) => series.startsWith(start));
  }

  #read(line: string): void {
    const [, kind, name = '', rest = ''] = /^# (HELP|TYPE) (\w+) (.+)$/.exec(line) ?? [];
    if (kind !== undefined) {
      const known = kind === 'HELP' ? this.helps : this.types;
      assert.ok(!known.has(name), `${name} is there once`);
      known.set(name, rest);
      return;
    }
    const [, series = '', value = ''] = /^(\w+(?:\{.*\})?) (\S+)$/.exec(line) ?? [];
    assert.ok(series !== '', `a line of metrics: ${line}`);
    assert.ok(!this.values.has(series), `${series} is there once`);
    this.values.set(series, value === '+Inf' ? Number.POSITIVE_INFINITY : Number(value));
  }
}
