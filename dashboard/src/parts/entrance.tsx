import type { ReactNode } from 'react';
import { basePath } from '../api/client.ts';
import { Seal } from './seal.tsx';

interface EntranceProps {
  readonly title: string;
  readonly lead: ReactNode;
  /** Whose page it is; ours where this is left out. */
  readonly head?: ReactNode;
  /** Where it is; null for nothing. */
  readonly foot?: ReactNode;
  /** Above the title. */
  readonly mark?: ReactNode;
  readonly children?: ReactNode;
}

/** A page in front of the shell: one card with one thing to do. */
export function Entrance({ title, lead, head, foot, mark, children }: EntranceProps) {
  return (
    <div className="entrance">
      <header className="entrance-head">
        {head ?? (
          <>
            <Seal size={24} />
            Chancery
          </>
        )}
      </header>
      <main className="entrance-body">
        <div className="entrance-card">
          <div>
            {mark}
            <h1>{title}</h1>
            <p className="soft">{lead}</p>
          </div>
          {children}
        </div>
      </main>
      {foot !== null && (
        <footer className="entrance-foot">
          {foot ?? <span className="cut">{location.host + basePath.replace(/_\/$/, '')}</span>}
        </footer>
      )}
    </div>
  );
}
