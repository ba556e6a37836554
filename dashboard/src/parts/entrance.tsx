import type { ReactNode } from 'react';
import { basePath } from '../api/client.ts';
import { Seal } from './seal.tsx';

interface EntranceProps {
  readonly title: string;
  readonly lead: ReactNode;
  readonly children: ReactNode;
}

/** A page in front of the shell: one card with one thing to do. */
export function Entrance({ title, lead, children }: EntranceProps) {
  return (
    <div className="entrance">
      <header className="entrance-head">
        <Seal size={24} />
        Chancery
      </header>
      <main className="entrance-body">
        <div className="entrance-card">
          <div>
            <h1>{title}</h1>
            <p className="soft">{lead}</p>
          </div>
          {children}
        </div>
      </main>
      <footer className="entrance-foot">
        <span className="cut">{location.host + basePath.replace(/_\/$/, '')}</span>
      </footer>
    </div>
  );
}
