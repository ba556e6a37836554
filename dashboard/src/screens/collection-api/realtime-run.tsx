import Play from 'lucide-react/icons/play';
import Square from 'lucide-react/icons/square';
import { useState } from 'react';
import { type LiveChange, useLiveChanges } from '../../api/live-changes.ts';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { JsonView } from '../../parts/json-view.tsx';
import { Time } from '../../parts/time.tsx';

const keptMax = 50;

/** Listens to the changes of a collection as long as one wants, newest first. */
export function RealtimeRun({ collection }: { readonly collection: string }) {
  const [isOn, setIsOn] = useState(false);
  const [changes, setChanges] = useState<readonly (LiveChange & { readonly at: string })[]>([]);
  return (
    <section className="api-run" aria-label="Run">
      <div className="schema-actions">
        <Button icon={isOn ? Square : Play} tone={isOn ? 'plain' : 'primary'} onClick={() => setIsOn(!isOn)}>
          {isOn ? 'Stop' : 'Run'}
        </Button>
        {isOn && <span className="soft">Listening. Changes appear here.</span>}
      </div>
      {isOn && (
        <Listener
          collection={collection}
          onChange={(change) =>
            setChanges((before) => [{ ...change, at: new Date().toISOString() }, ...before].slice(0, keptMax))
          }
        />
      )}
      <div role="log" aria-label="Changes">
        {changes.map((change) => (
          <div key={`${change.at}-${change.record.id}`} className="api-answer">
            <div className="api-answer-head">
              <Badge tone={change.action === 'delete' ? 'failed' : 'ok'}>{change.action}</Badge>
              <span className="soft">
                <Time value={change.at} />
              </span>
            </div>
            <JsonView value={change.record} />
          </div>
        ))}
      </div>
    </section>
  );
}

interface ListenerProps {
  readonly collection: string;
  readonly onChange: (change: LiveChange) => void;
}

function Listener({ collection, onChange }: ListenerProps) {
  useLiveChanges({ collection, filter: '' }, onChange);
  return null;
}
