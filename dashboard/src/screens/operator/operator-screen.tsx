import { lazyRouteComponent, useParams } from '@tanstack/react-router';
import Compass from 'lucide-react/icons/compass';
import { type ComponentType, Suspense } from 'react';
import { Bar } from '../../parts/bar.tsx';
import { NotFound } from '../../parts/empty.tsx';
import type { OperatorScope } from '../../api/operator-session.ts';
import { BackupsOfAll } from './backups-of-all.tsx';
import { InstanceScreen } from './instance-screen.tsx';
import { InstancesScreen } from './instances-screen.tsx';
import { Nodes } from './nodes.tsx';
import { OperatorEvents } from './operator-events.tsx';
import { OperatorPage } from './operator-page.tsx';
import { TopTable } from './top-table.tsx';

// Its parts are those of the settings of instances.
const OperatorAudit = lazyRouteComponent(async () => import('./operator-audit.tsx'), 'OperatorAudit');

interface SectionScreen {
  readonly title: string;
  readonly scope: OperatorScope;
  readonly View: ComponentType;
}

/** By their names in the address. That of the instances has a head of its own. */
const sections: Readonly<Record<string, SectionScreen>> = {
  usage: { title: 'Usage', scope: 'usage:read', View: TopTable },
  backups: { title: 'Backups', scope: 'instances:read', View: BackupsOfAll },
  nodes: { title: 'Nodes', scope: 'instances:read', View: Nodes },
  events: { title: 'Events', scope: 'instances:read', View: OperatorEvents },
  audit: { title: 'Audit log', scope: 'admin', View: OperatorAudit },
};

/** The screen of the operator that the address names. Most are loaded together, as they have most of their parts in common. */
export function OperatorScreen() {
  const { section = '', instance } = useParams({ strict: false });
  // Another instance is another screen: nothing of the one before stays.
  if (instance !== undefined) return <InstanceScreen key={instance} />;
  if (section === 'instances') return <InstancesScreen />;
  const screen = Object.hasOwn(sections, section) ? sections[section] : undefined;
  if (screen === undefined) return <NoScreen />;
  const { title, scope, View } = screen;
  return (
    <OperatorPage title={title} scope={scope}>
      <Suspense>
        <View key={section} />
      </Suspense>
    </OperatorPage>
  );
}

function NoScreen() {
  return (
    <>
      <Bar title="Operator" />
      <NotFound
        icon={Compass}
        title="Page not found"
        link={{ to: '/operator/$section', params: { section: 'instances' } }}
        action="Go to instances"
      >
        Check the address. It may need a newer version.
      </NotFound>
    </>
  );
}
