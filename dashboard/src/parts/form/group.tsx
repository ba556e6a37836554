import { useId, type ReactNode } from 'react';

interface GroupProps {
  readonly title: string;
  readonly lead?: ReactNode;
  readonly children: ReactNode;
}

/** What belongs together, under a name. */
export function Group({ title, lead, children }: GroupProps) {
  const id = useId();
  return (
    <section className="settings-group" aria-labelledby={id}>
      <div>
        <h2 id={id}>{title}</h2>
        {lead !== undefined && <p className="soft">{lead}</p>}
      </div>
      {children}
    </section>
  );
}
