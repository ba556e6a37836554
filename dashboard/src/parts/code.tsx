import { CopyButton } from './copy-button.tsx';

/** A text for programs, ready to copy. */
export function Code({ text }: { readonly text: string }) {
  return (
    <div className="code">
      {/* It scrolls where it is too long, so keys have to reach it. */}
      <pre tabIndex={0} aria-label="Code">
        {text}
      </pre>
      <CopyButton text={text} label="Copy" />
    </div>
  );
}
