import { useQuery } from '@tanstack/react-query';
import CircleCheck from 'lucide-react/icons/circle-check';
import { useEffect, type ReactNode } from 'react';
import { publicSettingsQuery } from '../../api/settings.ts';
import { setAccent } from '../../browser/accent.ts';
import { Entrance } from '../../parts/entrance.tsx';

interface AccountPageProps {
  readonly title: string;
  readonly lead: ReactNode;
  readonly isDone?: boolean;
  readonly children?: ReactNode;
}

/** A page for people with an account, who know nothing of this dashboard: the name and the colour are those of the instance. */
export function AccountPage({ title, lead, isDone = false, children }: AccountPageProps) {
  useEffect(() => {
    document.title = title;
  }, [title]);
  const { data } = useQuery(publicSettingsQuery);
  useEffect(() => {
    if (data !== undefined) setAccent(data.accentColor);
  }, [data]);
  return (
    <Entrance
      title={title}
      lead={isDone ? <span role="status">{lead}</span> : lead}
      head={data?.appName ?? location.host}
      foot={location.host}
      mark={
        isDone && (
          <span className="badge account-done" data-tone="ok">
            <CircleCheck size={26} strokeWidth={1.5} aria-hidden />
          </span>
        )
      }
    >
      {children}
    </Entrance>
  );
}
