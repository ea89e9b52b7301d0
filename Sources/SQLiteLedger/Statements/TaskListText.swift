/// The statements for lists of tasks, without their order. All of them have the same parameters, and differ in the index that finds the
/// tasks.
enum TaskListText {
  static let ofSession = """
    \(Query.tasks) INDEXED BY task_unfinished
    WHERE session = :owner AND state <> 'completed' AND (:state IS NULL OR :state <> 'completed') AND \(filter)
    UNION ALL
    \(Query.tasks) INDEXED BY task_finished
    WHERE session = :owner AND state = 'completed' AND (:state IS NULL OR :state = 'completed') AND \(filter)
    """
  static let ofTenant = "\(Query.tasks) INDEXED BY task_by_tenant WHERE tenant = :tenant AND \(filter)"
  static let unfinished = """
    \(Query.tasks) INDEXED BY task_unfinished_by_tenant
    WHERE tenant = :tenant AND state <> 'completed' AND \(filter)
    """
  static let unsuccessful = """
    \(Query.tasks) INDEXED BY task_unsuccessful
    WHERE tenant = :tenant AND result <> 'succeeded' AND \(filter)
    """
  static let ofGroup = "\(Query.tasks) INDEXED BY task_by_group WHERE group_key = :batch AND \(filter)"
  static let ofLabel = """
    \(Query.tasks) WHERE id IN (SELECT task FROM task_label WHERE key = :label AND task BETWEEN :low AND :high) AND \(filter)
    """

  /// The condition of all parameters. A parameter that is NULL admits all tasks.
  private static let filter = """
    id BETWEEN :low AND :high
      AND (:tenant IS NULL OR tenant = :tenant) AND (:owner IS NULL OR session = :owner)
      AND (:kind IS NULL OR kind = :kind) AND (:state IS NULL OR state = :state)
      AND (:result IS NULL OR result = :result) AND (:batch IS NULL OR group_key = :batch)
      AND (:label IS NULL
        OR EXISTS (SELECT 1 FROM task_label WHERE task_label.key = :label AND task_label.task = task.id))
      AND (:untouched IS NULL OR state = 'suspended' AND outcome IS NULL)
      AND (:since IS NULL OR created >= :since)
      AND (:ending IS NULL OR substr(lower(hex(id)), -length(:ending)) = :ending)
    """
}
