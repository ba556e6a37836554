import { Fragment, type ReactNode } from 'react';

interface FactsProps {
  /** By their names. What is not there has no line. */
  readonly items: Readonly<Record<string, ReactNode>>;
  readonly label?: string;
}

/** What there is to know of one thing, a line each. */
export function Facts({ items, label }: FactsProps) {
  return (
    <dl className="facts" aria-label={label}>
      {Object.entries(items).map(([name, value]) =>
        value === undefined || value === null || value === false || value === '' ? null : (
          <Fragment key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </Fragment>
        ),
      )}
    </dl>
  );
}

/** Headers in the order in which they come. Names and values are texts, whoever wrote them. */
export function HeaderFacts({ headers }: { readonly headers: Readonly<Record<string, unknown>> }) {
  const items = Object.entries(headers).map(([name, value]): [string, string] => {
    const text = Array.isArray(value) ? value.map(String).join(', ') : String(value);
    // An empty one has a line as well.
    return [name, text || '\u00a0'];
  });
  return (
    <div className="panel header-facts" tabIndex={0} role="group" aria-label="Headers">
      <Facts items={Object.fromEntries(items)} />
    </div>
  );
}
