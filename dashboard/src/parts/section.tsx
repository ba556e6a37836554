import { useId, type ReactNode } from 'react';

interface SectionProps {
  readonly title: ReactNode;
  /** What it is called where the title alone is too short for those who hear it. */
  readonly label?: string;
  readonly level?: 2 | 3 | 4;
  /** Behind the title. */
  readonly note?: ReactNode;
  /** At the end of the line of the title. */
  readonly actions?: ReactNode;
  readonly className?: string;
  readonly children: ReactNode;
}

/** A part of a screen under its title. */
export function Section(props: SectionProps) {
  const { title, label, level = 2, note, actions, className = 'section', children } = props;
  const id = useId();
  const Heading = `h${level}` as const;
  return (
    <section
      className={className}
      {...(label === undefined ? { 'aria-labelledby': id } : { 'aria-label': label })}
    >
      <div className={actions === undefined ? 'section-head' : 'section-head section-head-actions'}>
        <Heading id={id}>{title}</Heading>
        {note !== undefined && <span className="faint">{note}</span>}
        {actions}
      </div>
      {children}
    </section>
  );
}

/** A text as it came, in lines of its own: nothing of it becomes markup. */
export function RawText({ label, text }: { readonly label: string; readonly text: string }) {
  return (
    <pre className="panel raw" tabIndex={0} aria-label={label}>
      {text}
    </pre>
  );
}
