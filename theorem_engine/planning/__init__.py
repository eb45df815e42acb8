"""From equations to an order of evaluation: applied entries unfold, groups are found, steps are laid."""
