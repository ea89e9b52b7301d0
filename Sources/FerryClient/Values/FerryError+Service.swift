extension FerryError {
  /// Makes the error of a request to the service.
  init(_ error: ServiceError) {
    switch error {
    case .problem(let problem):
      let places = problem.errors.map(\.place)
      let code: Code =
        if places.contains(where: { $0.hasPrefix("/request/url") }) {
          .badURL
        } else if places.contains(
          where: { $0.hasPrefix("/resumeData") })
        { .unsupportedURL } else { .serviceRefused }
      self.init(code, message: problem.description, statusCode: problem.status)
    case .unreadableBody(let text): self.init(.requestBodyStreamExhausted, message: text)
    case .cancelled: self.init(.cancelled, message: "\(error)")
    case .unreachable, .timedOut, .invalidReply: self.init(.serviceUnreachable, message: "\(error)")
    }
  }
}
