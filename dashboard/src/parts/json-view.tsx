import type { ReactNode } from 'react';
import { CopyButton } from './copy-button.tsx';
import { Section } from './section.tsx';

const token = /("(?:\\.|[^"\\])*")(\s*:)?|\b(?:true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** Of what is drawn: each value is an element, and those of a megabyte would stop the page. */
const lengthMax = 20_000;

/** JSON as the API gives it, with its parts in colours. Texts stay texts: nothing of a record ever becomes markup. */
export function JsonView({ value }: { readonly value: unknown }) {
  const text = JSON.stringify(value, null, 2) ?? '';
  return (
    <>
      {text.length > lengthMax && (
        <p className="json-note">
          The first {lengthMax.toLocaleString()} of {text.length.toLocaleString()} characters{' '}
          <CopyButton text={text} label="Copy the whole JSON" />
        </p>
      )}
      <pre className="json" tabIndex={0} aria-label="JSON">
        {paint(text.slice(0, lengthMax))}
      </pre>
    </>
  );
}

/** The same under a title, with a button that copies it. */
export function JsonSection({ value }: { readonly value: unknown }) {
  const text = JSON.stringify(value, null, 2);
  return (
    <Section level={3} title="JSON" actions={<CopyButton text={text} label="Copy the JSON" />}>
      <JsonView value={value} />
    </Section>
  );
}

function paint(text: string): readonly ReactNode[] {
  const parts: ReactNode[] = [];
  let position = 0;
  for (const match of text.matchAll(token)) {
    parts.push(text.slice(position, match.index));
    const [all, quoted, colon] = match;
    const kind = quoted === undefined ? 'json-value' : colon === undefined ? 'json-text' : 'json-key';
    const shown = quoted ?? all;
    parts.push(
      <span key={match.index} className={kind}>
        {shown}
      </span>,
      colon ?? '',
    );
    position = match.index + all.length;
  }
  parts.push(text.slice(position));
  return parts;
}
