import Braces from 'lucide-react/icons/braces';
import ChartNoAxesColumn from 'lucide-react/icons/chart-no-axes-column';
import Copy from 'lucide-react/icons/copy';
import FilterIcon from 'lucide-react/icons/list-filter';
import FilterX from 'lucide-react/icons/funnel-x';
import PanelRight from 'lucide-react/icons/panel-right';
import Pencil from 'lucide-react/icons/pencil';
import SquareTerminal from 'lucide-react/icons/square-terminal';
import { apiUrl, type Collection, type Field, type RecordModel } from '../../api/client.ts';
import { copyText } from '../../parts/copy-button.tsx';
import { useMayEdit } from '../../parts/lock.tsx';
import { MenuItem, MenuLine, PointMenu } from '../../parts/menu.tsx';
import { showToast } from '../../parts/toast.tsx';
import type { Point } from '../../parts/use-point-anchor.ts';
import { cellCondition } from './cell-condition.ts';
import { cellText } from './cell-value.tsx';
import { addCondition } from './filter-terms.ts';

interface CellMenuProps {
  readonly collection: Collection;
  readonly record: RecordModel;
  readonly field: Field;
  readonly point: Point;
  readonly filter: string;
  readonly onFilter: (filter: string) => void;
  readonly onOpen: () => void;
  readonly onEdit: () => void;
  readonly onSummary: () => void;
  readonly onClose: () => void;
}

/** What can be done with one cell, where the pointer is: edit it, filter by its value, copy it or its record. */
export function CellMenu(props: CellMenuProps) {
  const { collection, record, field, point, filter, onFilter, onOpen, onEdit, onSummary, onClose } = props;
  const mayEdit = useMayEdit(collection);
  const value: unknown = record[field.name];
  const text = cellText(value);
  const url = `${apiUrl}/api/collections/${collection.name}/records/${record.id}`;
  const copy = async (content: string, name: string): Promise<void> => {
    if (await copyText(content)) showToast(`${name} copied.`);
  };
  const condition = (isExcluded: boolean): void =>
    onFilter(addCondition(filter, cellCondition(field, value, isExcluded)));
  return (
    <PointMenu label={`${field.name} of ${record.id}`} point={point} onClose={onClose}>
      {mayEdit && (
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
      {field.type !== 'password' && (
        <MenuItem icon={ChartNoAxesColumn} onSelect={onSummary}>
          Summary of {field.name}
        </MenuItem>
      )}
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
