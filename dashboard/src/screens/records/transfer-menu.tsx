import Download from 'lucide-react/icons/download';
import Ellipsis from 'lucide-react/icons/ellipsis';
import Upload from 'lucide-react/icons/upload';
import { lazy, Suspense, useState } from 'react';
import { Button } from '../../parts/button.tsx';
import { Menu, MenuItem } from '../../parts/menu.tsx';
import type { ShownRecords } from './column-layout.ts';

const Transfer = lazy(async () => ({ default: (await import('./transfer-panel.tsx')).TransferPanel }));

/** Records into a file, and from one. */
export function TransferMenu(props: ShownRecords) {
  const [mode, setMode] = useState<'export' | 'import'>();
  return (
    <>
      <Menu trigger={<Button icon={Ellipsis} tone="quiet" aria-label="Export and import" />}>
        <MenuItem icon={Download} onSelect={() => setMode('export')}>
          Export these records …
        </MenuItem>
        {props.collection.type !== 'view' && (
          <MenuItem icon={Upload} onSelect={() => setMode('import')}>
            Import CSV …
          </MenuItem>
        )}
      </Menu>
      {mode !== undefined && (
        <Suspense fallback={null}>
          <Transfer {...props} mode={mode} onClose={() => setMode(undefined)} />
        </Suspense>
      )}
    </>
  );
}
