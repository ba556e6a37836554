import Braces from 'lucide-react/icons/braces';
import Copy from 'lucide-react/icons/copy';
import FilterIcon from 'lucide-react/icons/list-filter';
import FilterX from 'lucide-react/icons/funnel-x';
import PanelRight from 'lucide-react/icons/panel-right';
import Pencil from 'lucide-react/icons/pencil';
import SquareTerminal from 'lucide-react/icons/square-terminal';
import { apiUrl, type Collection, client, type Field, type RecordModel } from '../../api/client.ts';
import { copyText } from '../../parts/copy-button.tsx';
import { MenuItem, MenuLine, PointMenu } from '../../parts/menu.tsx';
import { showToast } from '../../parts/toast.tsx';
import { cellText } from './cell-value.tsx';
import { addCondition } from './filter-terms.ts';

interface CellMenuProps {
  readonly collection: Collection;
  readonly record: RecordModel;
  readonly field: Field;
  readonly point: { readonly x: number; readonly y: number };
  readonly filter: string;
  readonly onFilter: (filter: string) => void;
  readonly onOpen: () => void;
  readonly onEdit: () => void;
  readonly onClose: () => void;
}

/** What can be done with one cell, where the pointer is: edit it, filter by its value, copy it or its record. */
export function CellMenu(props: CellMenuProps) {
  const { collection, record, field, point, filter, onFilter, onOpen, onEdit, onClose } = props;
  const value: unknown = record[field.name];
  const text = cellText(value);
  const url = `${apiUrl}/api/collections/${collection.name}/records/${record.id}`;
  const copy = async (content: string, name: string): Promise<void> => {
    if (await copyText(content)) showToast(`${name} copied.`);
  };
  const condition = (isExcluded: boolean): void =>
    onFilter(addCondition(filter, conditionOf(field, value, isExcluded)));
  return (
    <PointMenu label={`${field.name} of ${record.id}`} point={point} onClose={onClose}>
      {collection.type !== 'view' && (
        <MenuItem icon={Pencil} end="↵" onSelect={onEdit}>
          Edit
        </MenuItem>
      )}
      <MenuItem icon={PanelRight} end="space" onSelect={onOpen}>
        Open the record
      </MenuItem>
      <MenuLine />
      <MenuItem icon={FilterIcon} onSelect={() => condition(false)}>
        Filter by this
      </MenuItem>
      <MenuItem icon={FilterX} onSelect={() => condition(true)}>
        Exclude this
      </MenuItem>
      <MenuLine />
      <MenuItem icon={Copy} onSelect={() => void copy(text, 'Value')}>
        Copy the value
      </MenuItem>
      <MenuItem icon={Braces} onSelect={() => void copy(JSON.stringify(record, null, 2), 'JSON')}>
        Copy the JSON of the record
      </MenuItem>
      <MenuItem
        icon={SquareTerminal}
        onSelect={() => void copy(`curl ${url} -H "Authorization: $TOKEN"`, 'curl')}
      >
        Copy a curl command
      </MenuItem>
    </PointMenu>
  );
}

/** The condition that selects the records with the same value, or all others. Of several values, each has to be there. */
function conditionOf(field: Field, value: unknown, isExcluded: boolean): string {
  const { name } = field;
  const [same, join] = isExcluded ? ['!=', ' && '] : ['=', ' && '];
  if (Array.isArray(value)) {
    if (value.length === 0) return `${name}:length ${same} 0`;
    const any = isExcluded ? '!~' : '~';
    return value.map((one) => client.filter(`${name} ${any} {:one}`, { one: String(one) })).join(join);
  }
  if (value === null || value === undefined) return `${name} ${same} null`;
  if (field.type === 'geoPoint' && typeof value === 'object' && 'lon' in value && 'lat' in value) {
    const both = `${name}.lon = ${String(value.lon)} && ${name}.lat = ${String(value.lat)}`;
    return isExcluded ? `(${name}.lon != ${String(value.lon)} || ${name}.lat != ${String(value.lat)})` : both;
  }
  if (typeof value === 'number' || typeof value === 'boolean') return `${name} ${same} ${String(value)}`;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return client.filter(`${name} ${same} {:text}`, { text });
}
