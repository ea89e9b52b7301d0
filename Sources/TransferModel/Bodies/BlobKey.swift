/// Who has written a blob: an owner's epoch, and an attempt under it.
///
/// Whoever comes later writes under another stamp. So what an earlier owner still writes, renames or removes is never a successor's.
package struct BlobStamp: Sendable, Hashable {
  /// Of the owner that wrote it; 0: one that has no epoch.
  package let epoch: Int64
  package let attempt: Int

  package init(epoch: Int64 = 0, attempt: Int = 0) {
    self.epoch = epoch
    self.attempt = attempt
  }

  /// Blobs that are named after their task alone.
  package static let none = BlobStamp()
}

extension BlobStamp: LosslessStringConvertible {
  /// Nil where the text is none that `description` gives.
  package init?(_ text: String) {
    let numbers = text.split(separator: "-", omittingEmptySubsequences: false)
    guard numbers.count == 2, let epoch = Int64(numbers[0]), let attempt = Int(numbers[1]) else { return nil }
    self.init(epoch: epoch, attempt: attempt)
    guard epoch >= 0, attempt >= 0, description == text else { return nil }
  }

  package var description: String { "\(epoch)-\(attempt)" }
}

/// What bytes are kept under: whose they are, which part of that, and who wrote them.
package struct BlobKey: Sendable, Hashable {
  package enum Owner: Sendable, Hashable {
    case task(TaskID)
    /// A stored file.
    case file(FileID)
  }
  package enum Part: String, Sendable, CaseIterable {
    /// Whole, and never changed.
    case body = ""
    /// Being written.
    case draft = ".part"
    /// What a download that did not finish left to go on from.
    case partial = ".resume"
    /// The body of the task's request, encrypted. Whole, and never changed.
    case request = ".request"
  }

  package let owner: Owner
  package let part: Part
  package let stamp: BlobStamp

  package init(_ owner: Owner, _ part: Part, _ stamp: BlobStamp?) {
    self.owner = owner
    self.part = part
    self.stamp = stamp ?? .none
  }

  package init(_ task: TaskID, _ part: Part, _ stamp: BlobStamp?) { self.init(.task(task), part, stamp) }

  /// A stored file: its id is made anew by whoever stores it, and is nobody else's.
  package init(_ file: FileID) { self.init(.file(file), .body, nil) }

  /// nil: a stored file's.
  package var task: TaskID? { if case .task(let id) = owner { id } else { nil } }
  package var file: FileID? { if case .file(let id) = owner { id } else { nil } }

  package func part(_ part: Part) -> BlobKey { BlobKey(owner, part, stamp) }
}

extension BlobKey: LosslessStringConvertible {
  /// Nil for what is no blob's name.
  package init?(_ text: String) {
    guard let part = Part.allCases.last(where: { text.hasSuffix($0.rawValue) }) else { return nil }
    let words = text.dropLast(part.rawValue.count)
      .split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    var stamp = BlobStamp.none
    if words.count == 2 {
      guard let given = BlobStamp(String(words[1])), given != .none else { return nil }
      stamp = given
    }
    if let task = TaskID(String(words[0])) {
      self.init(task, part, stamp)
    } else if let file = FileID(String(words[0])) {
      self.init(.file(file), part, stamp)
    } else {
      return nil
    }
  }

  /// The task's or the file's id, the stamp where there is one, and what tells the parts apart.
  package var description: String {
    let id = if case .task(let task) = owner { task.description } else { file?.description ?? "" }
    return stamp == .none ? id + part.rawValue : "\(id).\(stamp)\(part.rawValue)"
  }
}

extension DownloadPoint {
  /// Where its bytes are.
  package var key: BlobKey { BlobKey(source, .partial, blob) }
}
