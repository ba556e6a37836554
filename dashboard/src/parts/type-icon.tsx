import type { LucideIcon } from 'lucide-react';
import Braces from 'lucide-react/icons/braces';
import Calendar from 'lucide-react/icons/calendar';
import CalendarClock from 'lucide-react/icons/calendar-clock';
import Hash from 'lucide-react/icons/hash';
import KeyRound from 'lucide-react/icons/key-round';
import Link from 'lucide-react/icons/link';
import ListChecks from 'lucide-react/icons/list-checks';
import Lock from 'lucide-react/icons/lock';
import Mail from 'lucide-react/icons/mail';
import MapPin from 'lucide-react/icons/map-pin';
import Paperclip from 'lucide-react/icons/paperclip';
import Pilcrow from 'lucide-react/icons/pilcrow';
import ToggleLeft from 'lucide-react/icons/toggle-left';
import Type from 'lucide-react/icons/type';
import Waypoints from 'lucide-react/icons/waypoints';
import type { Field } from '../api/client.ts';

const icons = {
  text: Type,
  number: Hash,
  bool: ToggleLeft,
  email: Mail,
  url: Link,
  editor: Pilcrow,
  date: Calendar,
  autodate: CalendarClock,
  select: ListChecks,
  file: Paperclip,
  relation: Waypoints,
  json: Braces,
  geoPoint: MapPin,
  password: Lock,
} satisfies Readonly<Record<Field['type'], LucideIcon>>;

/** Stands for the type of a field. */
export function TypeIcon({ field, size = 13 }: { readonly field: Field; readonly size?: number }) {
  const Icon = field.type === 'text' && field.primaryKey ? KeyRound : icons[field.type];
  return <Icon size={size} aria-hidden />;
}
